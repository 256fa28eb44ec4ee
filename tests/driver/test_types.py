"""The type checker refuses a step or a rule that does not fit its port, its ledger, its operands or its result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_HEAD = """
from collections.abc import Sequence

from conformance.driver import Judgement, PortLedger, Rules, Seen, Steps, always, shared
from conformance.ports import Answer, DequePort


class Counter:
    __slots__ = ("count",)
    count: int


class Mine(PortLedger):
    __slots__ = ("counter", "owed")
    counter: Counter
    owed: int

    def learn(self, seen: Seen[int | None]) -> None:
        self.owed = seen.value or 0

    def handles(self) -> Sequence[tuple[int]]:
        return ((0,),)


STEPS = Steps[DequePort, Mine]()
RULES = Rules[Mine]("deque")


@STEPS.step("consumer", ("live",), when=always, learn=Mine.learn)
def poll(port: DequePort, ledger: Mine) -> Answer[int | None]:
    return port.poll()


@STEPS.step("observer", ("live",), when=Mine.handles)
def contains_priority(port: DequePort, ledger: Mine, handle: int) -> Answer[bool]:
    return port.contains_priority(handle)


@shared("I-20")
def answers_a_number(ledger: Mine, seen: Seen[int | None]) -> Judgement:
    return seen.value is not None


@shared("I-21")
def answers_the_count(counter: Counter, seen: Seen[int | None]) -> Judgement:
    return seen.value == counter.count
"""

_RIGHT = """
@RULES.rule(poll)
def it_answers(ledger: Mine, seen: Seen[int | None]) -> Judgement:
    return seen.value == ledger.owed


@RULES.rule(contains_priority)
def it_knows(ledger: Mine, seen: Seen[bool, int]) -> Judgement:
    (handle,) = seen.operands
    return seen.value is (handle == ledger.owed)


RULES.adopt(answers_a_number, poll)
RULES.adopt(answers_the_count, poll, of=lambda ledger: ledger.counter)
"""

_WRONG = {
    "a misspelt method of the port": (
        '"DequePort" has no attribute "pol"',
        '@STEPS.step("consumer", ("live",), when=always)\n'
        "def another(port: DequePort, ledger: Mine) -> Answer[int | None]:\n    return port.pol()\n",
    ),
    "a misspelt attribute of the ledger in a rule": (
        '"Mine" has no attribute "owned"',
        "@RULES.rule(poll)\ndef it_answers(ledger: Mine, seen: Seen[int | None]) -> Judgement:\n"
        "    return seen.value == ledger.owned\n",
    ),
    "a rule that reads another answer than the step gives": (
        'expected "Callable[[Mine, Seen[int | None]]',
        "@RULES.rule(poll)\ndef it_answers(ledger: Mine, seen: Seen[bool]) -> Judgement:\n    return seen.value\n",
    ),
    "a rule that reads other operands than the step has": (
        'expected "Callable[[Mine, Seen[bool, int]]',
        "@RULES.rule(contains_priority)\ndef it_knows(ledger: Mine, seen: Seen[bool, str]) -> Judgement:\n"
        "    return seen.value\n",
    ),
    "a step whose operands are not those that enable it": (
        'expected "Callable[[DequePort, Mine, int]',
        '@STEPS.step("observer", ("live",), when=Mine.handles)\n'
        "def another(port: DequePort, ledger: Mine, handle: str) -> Answer[int]:\n    return port.count_priority()\n",
    ),
    "a step that learns from another answer than its own": (
        "incompatible type",
        '@STEPS.step("observer", ("live",), when=always, learn=Mine.learn)\n'
        "def another(port: DequePort, ledger: Mine) -> Answer[tuple[int, ...]]:\n    return port.items()\n",
    ),
    "a shared rule that is adopted for a step with another answer": (
        'of "adopt" of "Rules"',
        "RULES.adopt(answers_a_number, contains_priority)\n",
    ),
    "a rule of a model that is adopted for a step with another answer": (
        'of "adopt" of "Rules"',
        "RULES.adopt(answers_the_count, contains_priority, of=lambda ledger: ledger.counter)\n",
    ),
    "a rule of a model without a selector": (
        'incompatible type "Shared[Counter, int | None]"; expected "Shared[Mine, int | None]"',
        "RULES.adopt(answers_the_count, poll)\n",
    ),
    "a selector of another model": (
        'incompatible type "Callable[[Mine], int]"; expected "Callable[[Mine], Counter]"',
        "RULES.adopt(answers_the_count, poll, of=lambda ledger: ledger.owed)\n",
    ),
    "a selector that the ledger does not have": (
        '"Mine" has no attribute "count"',
        "RULES.adopt(answers_the_count, poll, of=lambda ledger: ledger.count)\n",
    ),
}


def refused(*sources: str, folder: Path) -> list[str]:
    """What the type checker says of each of these modules; one run, since starting it takes seconds."""
    files = []
    for number, source in enumerate(sources):
        files.append(folder / f"module_{number}.py")
        files[-1].write_text(_HEAD + source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(folder / "cache"),
         *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return ["\n".join(line for line in done.stdout.splitlines() if file.name in line) for file in files]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    sources = {"right": _RIGHT, **{what: source for what, (_, source) in _WRONG.items()}}
    return dict(zip(sources, refused(*sources.values(), folder=tmp_path_factory.mktemp("types")), strict=True))


@pytest.mark.xdist_group("types")
def test_what_fits_is_accepted(said: dict[str, str]):
    assert said["right"] == ""


@pytest.mark.xdist_group("types")
@pytest.mark.parametrize("what", _WRONG)
def test_the_type_checker_refuses(what: str, said: dict[str, str]):
    assert _WRONG[what][0] in said[what]
