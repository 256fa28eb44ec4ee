"""Words of a stranger that would act on a terminal, forge a line of a verdict or be markup, at every door."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.campaigns import Inline, make_plan, start
from conformance.campaigns.files import PLAN, RESULT
from conformance.engines import read_scenario
from conformance.ports import Element, ErrorKind, PortError
from conformance.scenarios import Finding, encode_scenario
from reference_impl.network.subpartition import Subpartition
from tests.bridges.conftest import PROGRAM
from tests.implementations import With
from tests.meeting import CONFORMS, FORGED, FOUND, INCONCLUSIVE, LIMITS, REFUSED, ROOT, Case

SAID = f"mine\n{FORGED} deque conforms\x1b[2J[bold]|`a`<script>{FORGED}()</script>\u202e\\| ```"
_CORPUS = ROOT / "tests" / "corpus"
_WRITING = ("--bug-reports", "reports", "--report", "page.md", "--ctrf", "page.ctrf")
_DEQUE = ("check", "--component", "deque", "--scenarios", "6", *LIMITS, *_WRITING)
_SUBPARTITION = ("check", "--component", "subpartition", "--scenarios", "6", *LIMITS, *_WRITING)


def forged_name() -> With:
    """An adapter in Python whose name is several lines."""
    return With(Subpartition, SAID)


class Saying(Subpartition):
    """Says it in the text of an error."""

    def add(self, element: Element) -> bool:
        raise PortError(ErrorKind.STATE, SAID)


class Raising(Subpartition):
    """Says it in an exception of its own, on stderr and on stdout."""

    def add(self, element: Element) -> bool:
        print(SAID)
        print(SAID, file=sys.stderr)
        raise RuntimeError(SAID)


def saying() -> With:
    return With(Saying, "saying")


def raising() -> With:
    return With(Raising, "raising")


def not_made() -> With:
    """An adapter that cannot be made."""
    raise RuntimeError(SAID)


def _program(what: str, status: int, **behaviour: str) -> Case:
    does = {"on_hello": "say(**HELLO)", "on_call": "outcome()", "on_scenario": "pass", **behaviour}
    command = f"jsonl:{shlex.join([sys.executable, 'program.py'])}"
    return Case(
        f"words, program: {what}", (*_DEQUE, "--implementation", command), status,
        lambda folder: _write(folder / "program.py", PROGRAM.format(**does)),
    )  # fmt: skip


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _said_in(value: str) -> str:
    """A literal of Python for the template of a program."""
    return repr(value).replace("{", "{{").replace("}", "}}")


def _known(scenario: str = "scenario.json") -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        finding = read_scenario(_CORPUS / "B-D10.json").finding
        assert finding is not None
        (folder / "scenario.json").write_bytes((_CORPUS / "B-D10.json").read_bytes())
        (folder.parent / "outside.json").write_bytes((_CORPUS / "B-D10.json").read_bytes())
        (folder / "link.json").symlink_to("../outside.json")
        said = "".join(f"\\U{ord(one):08x}" for one in SAID)
        _write(
            folder / "known.toml",
            f'[[failure]]\nproperty = "{finding.property}"\ncomponent = "deque"\nclass = "{finding.failure_class}"\n'
            f'ticket = "{said}"\nreason = "{said}"\nscenario = "{scenario}"\n',
        )

    return prepare


def _known_failures(what: str, status: int, scenario: str = "scenario.json") -> Case:
    call = ("--implementation", "known-bug:B-D10", "--known-failures", "known.toml")
    return Case(f"words, known failures: {what}", (*_DEQUE, *call), status, _known(scenario))


def _finding(change: Callable[[Finding], Finding]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        scenario = read_scenario(_CORPUS / "B-D10.json")
        assert scenario.finding is not None
        changed = type(scenario)(scenario.component, scenario.config, scenario.steps, change(scenario.finding))
        _write(folder / "scenario.json", encode_scenario(changed))

    return prepare


def _campaign(name: str, edit: Callable[[Any], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        plan = make_plan("s", ["known-bug:B-D10"], ["deque"], scenarios=60, block=30, budget=0)
        start(folder / "campaign", plan, Inline())
        document = json.loads((folder / "campaign" / name).read_bytes())
        edit(document)
        _write(folder / "campaign" / name, json.dumps(document))

    return prepare


WORDS = (
    _program("greets with them", REFUSED, on_hello=f"say(**dict(HELLO, name={_said_in(SAID)}))"),
    _program("has them as its version", REFUSED, on_hello=f"say(**dict(HELLO, version={_said_in(SAID)}))"),
    _program("says them in an error", FOUND, on_call=f"outcome(error=dict(kind='state', reason={_said_in(SAID)}))"),
    _program("refuses a call with them", INCONCLUSIVE, on_call=f"say(type='error', reason={_said_in(SAID)})"),
    _program("has them in its log and exits", INCONCLUSIVE,
             on_call=f"print({_said_in(SAID)}, file=sys.stderr, flush=True); sys.exit(1)"),
    Case("words, Python: its name", (*_SUBPARTITION, "--implementation", "tests.stranger_words:forged_name"), REFUSED),
    Case("words, Python: an error", (*_SUBPARTITION, "--implementation", "tests.stranger_words:saying"), FOUND),
    Case("words, Python: an exception and its log",
         (*_SUBPARTITION, "--implementation", "tests.stranger_words:raising"), INCONCLUSIVE),
    Case("words, Python: it cannot be made",
         (*_SUBPARTITION, "--implementation", "tests.stranger_words:not_made"), REFUSED),
    Case("words, Python: the doctor meets its name",
         ("doctor", "--implementation", "tests.stranger_words:forged_name"), FOUND),
    Case("words, call: a command of several lines", (*_DEQUE, "--implementation", f"jsonl:sh -c '{SAID}'"), REFUSED),
    Case("words, call: a component", ("check", "--component", SAID), REFUSED),
    Case("words, call: the name of a file", ("replay", "a\n" + FORGED + ".json"), REFUSED),
    _known_failures("the ticket and the reason", CONFORMS),
    _known_failures("the scenario is `../outside.json`", REFUSED, "../outside.json"),
    _known_failures("the scenario is a link out of the folder", REFUSED, "link.json"),
    Case("words, scenario: its implementation", ("replay", "scenario.json"), REFUSED,
         _finding(lambda one: Finding(one.property, one.failure_class, SAID))),
    Case("words, scenario: its property", ("replay", "scenario.json"), FOUND,
         _finding(lambda one: Finding(SAID, one.failure_class, one.implementation))),
    Case("words, campaign: the plan has them as a name", ("campaign", "status", "campaign"), REFUSED,
         _campaign(PLAN, lambda plan: plan.update(implementations=[SAID]))),
    Case("words, campaign: the plan has them as its seed", ("campaign", "status", "campaign"), REFUSED,
         _campaign(PLAN, lambda plan: plan.update(seed=SAID))),
    Case("words, campaign: the result has them as what was observed", ("campaign", "report", "campaign"), REFUSED,
         _campaign(RESULT, lambda one: one["implementations"][0]["components"][0]["findings"][0].update(
             observed=SAID))),
)  # fmt: skip
