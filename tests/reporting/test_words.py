"""Everything that reports can say of a run reads as words, and names what it is about."""

from __future__ import annotations

import re
from collections import defaultdict
from enum import Enum
from typing import get_args

import pytest

from conformance import ports
from conformance.components import COMPONENTS
from conformance.driver import FailureClass
from conformance.models.fault_words import CALLS, HOW, call_at
from conformance.models.signal_words import SIGNALS, SUBTASK_CALLS, TASK_STATES
from conformance.ports import (
    CheckpointDeclined,
    CoordinatorReset,
    EventTransmitted,
    FaultKind,
    Message,
    PriorityAvailable,
    ReportReceived,
    Signal,
    SubtaskCall,
    SubtaskReset,
    TaskState,
)
from conformance.ports import faults as declared
from conformance.reporting.words import FAILURE_CLASSES, pause_in_words, signal_in_words, step_in_words
from tests.reporting.words import LISTED, SECTIONS, Described, described, listed

EVERY = described()
CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Z]\w*")
IDENTIFIER = re.compile(r"\w_\w")
EMPTY = re.compile(r"^\s*$|  |[(,;:]\s*[,;:)]|[,;:]\s*$|\b(?:reason|cause|the|of|attempt) *(?:[,;:)]|$)")
DOUBLED = re.compile(r"\b(\w+ \w+)[,;] \1\b|\b(\w+) \2\b")


def test_what_reports_say_is_listed():
    """After a change that is meant: `python -m tests.reporting.words` writes the list anew. Read it."""
    assert LISTED.read_text(encoding="utf-8") == listed()


@pytest.mark.parametrize("heading", SECTIONS)
def test_what_reports_say_is_in_words(heading):
    for one in SECTIONS[heading]():
        words = one.words.partition(" ")[2] if heading == "steps" else one.words
        complaints = [test.pattern for test in (CLASS_NAME, IDENTIFIER) if test.search(words)]
        complaints += [test.pattern for test in (EMPTY, DOUBLED) if test.search(one.words)]
        assert (one.words, complaints) == (one.words, [])


@pytest.mark.parametrize(
    "bad",
    ["state initializing, cause , records 1", "checkpoint 1, checkpoint 1, unaligned true", "OperatorsOpened", "",
     "the call of the  fails", "old_channel 3", "gate 0 (attempt )", "the the task", "fails, reason "],
)  # fmt: skip
def test_what_is_no_sentence_is_recognised(bad):
    assert any(test.search(bad) for test in (CLASS_NAME, IDENTIFIER, EMPTY, DOUBLED))


def test_the_words_name_whatever_something_carries():
    missing = [(one.what, one.words, value) for one in EVERY for value in one.carried if not _named(value, one.words)]
    assert missing == []


def _named(value: object, words: str) -> bool:
    """Whether the words name a value. Truth values and members of enumerations are distinguished, see below."""
    if value is None or isinstance(value, (bool, Enum)) or value == "":
        return True
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", words) is not None


@pytest.mark.parametrize("heading", SECTIONS)
def test_different_things_are_said_in_different_words(heading):
    """So no truth value, and no member of an enumeration, is left out."""
    said: dict[tuple[str, str], set[tuple[object, ...]]] = defaultdict(set)
    for one in SECTIONS[heading]():
        said[one.what, one.words].add(one.carried)
    assert [key for key, carried in said.items() if len(carried) > 1] == []


def test_everything_that_is_declared_has_words():
    places = {value for name, value in vars(declared).items() if name.isupper() and isinstance(value, str)}
    assert CALLS.keys() == places
    assert HOW.keys() == set(FaultKind)
    assert SIGNALS.keys() == set(get_args(Signal))
    assert SUBTASK_CALLS.keys() == set(SubtaskCall)
    assert TASK_STATES.keys() == set(TaskState)
    assert FAILURE_CLASSES.keys() == set(FailureClass)
    assert len({*CALLS.values()}) == len(CALLS)


def test_every_operand_of_a_step_is_named():
    for component in COMPONENTS.values():
        for kind in component.steps:
            words = step_in_words((kind.name, *range(1, 1 + len(kind.operands))), component)
            operands = words.removeprefix(kind.name).removeprefix(" (").removesuffix(")")
            found = [re.sub(r" \d$", "", one) for one in operands.split(", ")] if operands else []
            wanted = [name.replace("_", " ").replace("seq", "sequence number") for name in kind.operands]
            assert found == wanted


def test_a_step_of_another_version_is_described_too():
    gate = COMPONENTS["gate"]
    assert step_in_words(("nothing_of_ours", 3, "x"), gate) == "nothing_of_ours (3, x)"
    assert step_in_words(("buffer", 3, 4), gate) == "buffer (channel 3, 4)"


def test_an_operand_may_be_an_empty_text():
    step = ("add_input_from_spill", 0, "")
    assert step_in_words(step, COMPONENTS["writer"]) == "add_input_from_spill (subtask 0, channels none)"


def test_what_is_special_is_said_specially():
    assert signal_in_words(PriorityAvailable(-1)) == "a priority event is available"
    assert signal_in_words(CoordinatorReset(ports.NO_CHECKPOINT)) == "the coordinator is reset to the beginning"
    assert signal_in_words(SubtaskReset(1, ports.NO_CHECKPOINT)).endswith("subtask 1 is reset to the beginning")
    same = "event 0 is on its way to subtask 1 (attempt 2)"
    assert signal_in_words(EventTransmitted(1, 2, Message(1, 2, 0))) == same
    replayed = "the coordinator receives report 0 of subtask 1 (attempt 0) from subtask 1 (attempt 2)"
    assert signal_in_words(ReportReceived(1, 2, Message(1, 0, 0))) == replayed


def test_a_signal_that_carries_nonsense_is_described_all_the_same():
    assert signal_in_words(CheckpointDeclined(1, "because")) == "checkpoint 1, reason because"  # type: ignore[arg-type]


def test_places_of_other_implementations_are_described():
    assert pause_in_words("Semaphore") == "pauses where it waits for the Semaphore"
    assert pause_in_words("a slow place") == "pauses where it waits for a slow place"
    assert pause_in_words("the lock of the gate") == "pauses before it takes the lock of the gate"
    assert pause_in_words("blocked") == "pauses where it waits for the blocked"
    assert call_at("own_place") == "the call of the own place"


def test_the_list_is_of_what_it_says():
    assert all(isinstance(one, Described) and one.what for one in EVERY)
    assert len(EVERY) > 400
