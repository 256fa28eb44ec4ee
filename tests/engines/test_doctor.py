"""What the doctor says: of the healthy that they are, of the sick what would mend them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.bridges.jsonl import JsonLinesImplementation, jsonl
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.calls import Happened, perform
from conformance.engines.doctor import examine
from conformance.engines.patient import Patient
from conformance.ports import (
    Batch,
    Capability,
    Examined,
    Implementation,
    Outcome,
    UnusableImplementation,
    find_implementation,
)
from tests.bridges.conftest import deque_program  # noqa: F401  # the program on the page of the protocol
from tests.implementations import (
    CannotSay,
    ClaimsNonsense,
    Nonsense,
    NothingToMake,
    Raising,
    SaysNonsense,
    With,
    reference,
)

IMPORTS = ("import json\n", "import json\nimport os\nimport random\nimport time\n")
SECONDS = 0.5
"""For an answer."""


def wrong(make: Callable[[], Implementation]) -> list[Examined]:
    return [one for one in examine(make) if one.wrong]


@pytest.fixture
def diagnosed(deque_program: list[str]) -> Callable[..., Examined]:  # noqa: F811
    """The first thing that is wrong with the program of the page, once pieces of it are exchanged for others."""

    def diagnose(*patches: tuple[str, str]) -> Examined:
        script = Path(deque_program[1])
        source = script.read_text()
        for old, new in (IMPORTS, *patches):
            assert source.count(old) == 1, f"the program on the page has changed: {old!r}"
            source = source.replace(old, new)
        script.write_text(source)
        return wrong(partial(JsonLinesImplementation, deque_program, timeout_seconds=SECONDS))[0]

    return diagnose


@pytest.mark.parametrize(
    "name",
    [
        "reference",
        pytest.param("reference-recover-first", marks=pytest.mark.slow(reason="the same diagnoses, another design")),
    ],
)
def test_the_reference_is_healthy(name):
    assert wrong(partial(find_implementation, name)) == []


@pytest.mark.slow  # the examination of this process, which is tried by default, over a wire
def test_the_reference_is_healthy_at_the_other_end_of_a_wire():
    seen = list(examine(partial(jsonl, f"{sys.executable} -m conformance.bridges.jsonl serve reference")))
    assert [one for one in seen if one.wrong] == []
    answers = [one for one in seen if one.what.endswith(": results")]
    assert len(answers) == len(COMPONENTS)
    for one in answers:
        called, _, every = one.found.split()[:3]
        assert called == every, one.found


def test_the_program_on_the_page_is_healthy(deque_program):  # noqa: F811
    assert wrong(partial(JsonLinesImplementation, deque_program)) == []


CAPABILITIES = '"capabilities": []'
CLAIMS = (CAPABILITIES, '"capabilities": ["resources"]')
ITEMS = "return list(self.handles)"
POLL = "return self.handles.pop(0) if self.handles else None"
RESOURCES = "return {}"
METHOD = 'raise Senseless(f"a deque has no method {method!r}")'
OPENED = 'port = make(request["component"], request["config"])'
RELEASE = "    def release(self):\n        self.handles, self.priority = [], 0"


@pytest.mark.parametrize(
    ("patches", "what", "found", "cure"),
    [
        ([(CAPABILITIES, '"capabilities": ["resource"]')],
         "capabilities", "does not know: resource.", "Is resource meant to be resources? Known are blocked-"),
        ([(CAPABILITIES, '"capabilities": ["stepping"]')], "capabilities", "claims stepping", 'Leave "stepping" out'),
        ([('"components": ["deque"]', '"components": ["dequeue"]')],
         "components", "does not know and ignores: dequeue.", "Is dequeue meant to be deque?"),
        ([('"name": "tiny"', '"name": ""')], "greeting", "has no name", 'with a "name"'),
        ([(METHOD, "return {}")],
         "requests", 'A method that does not exist: {"type":"call","call":["frobnicate"]} was answered with',
         'Answer {"type":"error","reason":…}'),
        ([(METHOD, "sys.exit(4)")], "requests", "The program exited with status 4", 'Answer {"type":"error"'),
        ([(METHOD, "time.sleep(9)")],
         "requests", "no answer to the call 'frobnicate' within 0.5 s", 'Answer {"type":"error"'),
        ([("if config:", "if False:")],
         "requests", "A field that does not exist", "Otherwise the suite tests another configuration."),
        ([('if component != "deque"', "if False")],
         "requests", "A component that does not exist", "Otherwise the suite tests the wrong object."),
        ([("\n        break", "\n        sys.exit(3)")],
         "close", "The program exited with status 3.", "exit with status 0"),
        ([(POLL, f"print('polling'); {POLL}")],
         "deque: results", "with 'polling': JSON is malformed", "Nothing else may be written to stdout."),
        ([(POLL, "sys.exit(5)")],
         "deque: results", "the program exited with status 5", "The program must go on after each operation"),
        ([(RESOURCES, "return {'segmants': 0}")],
         "deque: results", "unknown field `segmants`", "Correct the line that it writes: `conformance docs json"),
        ([('"version": "1"', '"version": str(os.getpid())')],
         "deque: configurations", "greets with the version '", "the same name, version, capabilities"),
        ([('{"error": {"kind": "crashed",', '{"error": {"kind": "checkpoint",'), (POLL, "raise ValueError")],
         "deque: results", "with an error of kind checkpoint and without a `checkpoint_reason`.", "Say with an error"),
        ([("print(json.dumps(reply), flush=True)", "print(json.dumps(reply) + chr(10) + '[0]', flush=True)")],
         "requests", "wrote a line that answers no request: '[0]", 'Answer {"type":"error"'),
        ([(ITEMS, "return ','.join(map(str, self.handles))")],
         "deque: results", "answered nonsense to 'items': Expected `array", "`items` returns a list of integers, or"),
        ([(POLL, "return self.handles.pop(0)")],
         "deque: results", '`poll` failed at call ', "`poll` returns int or null, or an error of a kind other"),
        ([(POLL, "time.sleep(9)")],
         "deque: results", "gave no answer to the call 'poll' within 0.5 s", "No operation may block the program."),
        ([CLAIMS, (RESOURCES, "raise NotImplementedError")],
         "deque: results", "NotImplementedError(). The implementation claims `resources`", "do not claim `resources`"),
        ([CLAIMS], "capabilities", "`resources` never returned a count", "Return counts (0 is a count), or do not"),
        ([(OPENED, f"{OPENED[7:]}; port = globals().get('port') or {OPENED[7:]}")],
         "deque: a fresh object", "The first call that differs is call ", "must drop the one before"),
        ([(ITEMS, "return random.sample(self.handles, len(self.handles)) + [random.randrange(1000)]")],
         "deque: the same again", "had other outcomes the second time, and the third", "no random number"),
        ([(ITEMS, "return [*self.handles, os.getpid()]")],
         "deque: another start", "After a second start, it had other outcomes.", "no order of a hash table"),
        ([(ITEMS, "return self.handles")],
         "deque: in one message", "had other outcomes step by step than in one message.", "like a `call`"),
        ([('outcomes.append({} if call[0] == "new" else outcome(port, call))',
           'outcomes.extend([] if call[0] == "new" else [outcome(port, call)])')],
         "deque: in one message", "outcomes to a scenario of", "`new` included"),
        ([(RELEASE, "    def release(self):\n        del self.handles")],
         "deque: results", "AttributeError", "`items` returns a list of integers, or"),
        ([('"kind": "crashed"', '"kind": "state"'),
          ("= [], 0\n\n    def add(", "= [], 0\n        self.over = 0\n\n    def add("),
          (RELEASE, f"{RELEASE}\n        self.over += 1\n        assert self.over < 2")],
         "deque: release", "A second `release` failed, after ", "a second `release` must do nothing"),
        ([CLAIMS, (RESOURCES, "return {'segments': 2}")],
         "deque: release", "After `release`, `resources` still returns segments 2", "Give everything back"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_cure(patches, what, found, cure, diagnosed):
    one = diagnosed(*patches)
    assert (one.what, found in one.found, cure in one.cure) == (what, True, True), one


def patched(command: list[str], *patches: tuple[str, str]) -> list[str]:
    script = Path(command[1])
    source = script.read_text()
    for old, new in patches:
        assert source.count(old) == 1, f"the program on the page has changed: {old!r}"
        source = source.replace(old, new)
    script.write_text(source)
    return command


def test_a_program_that_ends_is_one_finding_whatever_the_operations_were(deque_program):  # noqa: F811
    command = patched(deque_program, (POLL, "sys.exit(5)"), (ITEMS, "sys.exit(5)"), (RESOURCES, "sys.exit(5)"))
    (one,) = wrong(partial(JsonLinesImplementation, command))
    assert one.what == "deque: results"


def test_a_program_that_ends_in_the_second_run_only_has_no_state_left_over(deque_program):  # noqa: F811
    """In the first run of the calls it is the second object of its process: the first one was made and not called."""
    counted = "globals()['opened'] = globals().get('opened', 0) + 1"
    ends = f"return sys.exit(5) if opened > 3 else ({POLL[7:]})"
    command = patched(deque_program, (OPENED, f"{counted}; {OPENED}"), (POLL, ends))
    (one,) = wrong(partial(JsonLinesImplementation, command))
    assert one.what == "deque: results"
    assert one.found.startswith("In one of two runs of the same calls, the program ended. The first call that differs")
    assert "exited with status 5" in one.found
    assert one.cure.startswith("The program must go on after each operation")


class Loose(With):
    """Its factory makes what is no port, or cannot be named."""

    def __init__(self, factory: Any) -> None:
        super().__init__()
        self._factory = factory

    def components(self):
        return {"deque": self._factory}


@pytest.mark.parametrize(
    ("make", "what", "found"),
    [
        (partial(With, Nonsense), "subpartition: results",
         "of the wrong type: Expected `BufferAndBacklog | null`, got `str`"),
        (partial(With, Raising), "subpartition: results", "ZeroDivisionError: one over nothing"),
        (NothingToMake, "subpartition: configurations", "The factory made no subpartition from {\"exclusive"),
        (SaysNonsense, "what it offers", "components() must return a mapping"),
        (ClaimsNonsense, "what it offers", "capabilities must be a frozenset"),
        (CannotSay, "what it offers", "RuntimeError: ask me later"),
        (partial(Loose, lambda config: object()), "deque: configurations", "From {} the factory made a object."),
    ],
)  # fmt: skip
def test_implementations_in_python_are_examined_too(make, what, found):
    one = wrong(make)[0]
    assert (one.what, found in one.found) == (what, True), one
    assert one.cure


class InOneMessage(With):
    """The reference, and what it returns to whole scenarios: an operation that waits is said to be done."""

    def components(self):
        return {"remote-channel": reference().components()["remote-channel"]}

    @property
    def batch(self) -> Batch:
        def run(component: str, config: Any, calls: Any) -> list[Outcome]:
            happened = iter(perform(COMPONENTS[component], self.components()[component], calls))
            return [next(one.outcome for one in happened if one.call is call) for call in calls]

        return run


def test_what_waits_step_by_step_must_wait_in_one_message():
    (one,) = wrong(InOneMessage)
    assert one.what == "remote-channel: in one message"
    assert one.found == "An operation that waits step by step ended in a `scenario` without waiting."
    assert "`blocked`" in one.cure


class Distorting(With):
    """Of the two messages with the same scenario, one has no results."""

    wrong_time = 0

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def components(self):
        return {"deque": reference().components()["deque"]}

    @property
    def batch(self) -> Batch:
        def run(component: str, config: Any, calls: Any) -> list[Outcome]:
            self.times += 1
            happened = [one.outcome for one in perform(COMPONENTS[component], self.components()[component], calls)]
            return [Outcome(None, one.signals) if self.times % 2 == self.wrong_time else one for one in happened]

        return run


class DistortingFirst(Distorting):
    wrong_time = 1


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (DistortingFirst, "The same calls had other outcomes step by step than in one message."),
        (Distorting, "The same scenario in one message had other outcomes the second time."),
    ],
)
def test_a_scenario_in_one_message_has_the_same_outcomes_as_its_calls_and_the_second_time_too(make, found):
    (one,) = wrong(make)
    assert one.what == "deque: in one message"
    assert one.found.startswith(found)


def test_a_component_that_nobody_knows_is_named():
    class Odd(With):
        def components(self):
            return {**super().components(), "teleporter": object}

    (one,) = wrong(Odd)
    assert (one.what, "teleporter" in one.found) == ("components", True)


def test_what_cannot_be_done_must_not_be_offered():
    class Idle(With):
        capabilities = frozenset[Capability]()

        def components(self):
            return {"recovered-channel": object}

    (one,) = wrong(Idle)
    assert one.found == (
        "It claims no capability that a recovered-channel needs: "
        "faults, recover-by-pushing, recover-first, recover-in-memory."
    )


def test_without_a_name_nothing_begins():
    class Nameless(Implementation):
        capabilities = frozenset[Capability]()

        def components(self):
            return {}

    with pytest.raises(UnusableImplementation, match="cannot say its name and version"):
        list(examine(Nameless))


@pytest.mark.parametrize(
    ("patch", "status", "said"),
    [
        (None, 0, "Now search for bugs: conformance check --implementation 'jsonl:"),
        (("if config:", "if False:"), 1, "One thing is WRONG. Fix the first one"),
        (('"protocol": 4', '"protocol": 2'), 2, "This suite speaks protocol 4: `fault` has a third argument"),
    ],
)
def test_the_command_says_it_and_what_to_run_next(patch, status, said, deque_program, capsys):  # noqa: F811
    script = Path(deque_program[1])
    if patch:
        script.write_text(script.read_text().replace(*patch))
    with pytest.raises(SystemExit) as ended:
        cli.main(["doctor", "--implementation", f"jsonl:{' '.join(deque_program)}"])
    assert ended.value.code == status
    printed = capsys.readouterr()
    assert said in " ".join((printed.out + printed.err).split())
    assert "conformance check" in printed.out or status == 2


def test_a_call_was_foreseen_if_all_results_before_it_were_those_of_the_reference(monkeypatch):
    patient = Patient(Program(COMPONENTS["deque"], reference()), reference)
    patient.scenarios = [()]
    theirs = [Happened(("size",), Outcome(number)) for number in range(3)]
    monkeypatch.setattr(patient, "_owed", lambda calls: theirs)
    for at in range(3):
        patient.histories = [[*theirs[:at], Happened(("size",), Outcome(7)), *theirs[at + 1 :]]]
        assert patient._was_foreseen(0) == (at == 2), "the last result is what is examined"
