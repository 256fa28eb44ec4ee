"""What people read is in words: no text shows how Python writes an object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Replay
from conformance.engines.explore import Explorer
from conformance.engines.scope import scope_of
from conformance.models.words import name
from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    CancelMarker,
    EndOfData,
    EndOfPartition,
    Event,
    RecoveryCompletion,
    RecoveryMetadata,
    Signal,
    find_implementation,
)
from conformance.reporting import exploration_table, tell
from conformance.reporting.console import CarefulConsole
from conformance.reporting.words import element_in_words, value_in_words

CORPUS = sorted((Path(__file__).parent.parent / "corpus").glob("*.json"))
PYTHON = re.compile(
    r"<\w+[ .]|object at|\b[A-Z]\w+\(|\b(?:None|True|False)\b|\(\d*,|\(\)|\[|\]|\{|\}|\b[A-Z]\w+\.[A-Z]|frozenset|\bb'"
)
"""Objects, calls of classes, constants, tuples, lists, dictionaries, members of enumerations, bytes."""


@pytest.mark.parametrize(
    "text",
    [
        "<reference_impl.network.gate.Gate object>", "Buffer(ids=(1,))", "it answered None", "must be True", "(1,)",
        "()", "[1, 2]", "{'a': 1}", "Reason.SUBSUMED", "CheckpointReason.SUBSUMED", "frozenset({1})", "b'x'",
    ],
)  # fmt: skip
def test_python_is_recognised(text):
    assert PYTHON.search(text)


RIDDLE = re.compile(
    r"^(?:it|they) (?:was|were|is|are|did|does|do)(?: not)?$|^(?:no |an? )?[\w-]+(?: [\d, ]+)?$"
    r"|(?<![\d-])\b1 (?:buffers|events|files|futures|grants|listeners|polls|records|reports|segments)\b"
    rf"|\b(?:{'|'.join(one.__name__ for one in get_args(Signal))})\b"
)
"""A text without a verb, or that does not say what was not done; a plural of one; the class of a signal."""


@pytest.mark.parametrize(
    "text",
    ["it was not", "it did", "records 0, 1", "record 2", "no record", "nothing", "3", "hold 1 segments",
     "the channel must emit StateConsumed once"],
)  # fmt: skip
def test_riddles_are_recognised(text):
    assert RIDDLE.search(text)


def texts(shown: Replay) -> list[str]:
    """What a person reads of a replay. tests/engines/test_replay.py looks at them for each known bug."""
    story = tell(shown)
    found = [f"{one.step}; {one.answer}; {one.signals}" for one in story.steps]
    if shown.violation is not None:
        found += [shown.violation.broken.owed, shown.violation.broken.observed]
    return found


def test_lists_and_unknown_results_are_described():
    assert value_in_words([]) == "none"
    assert value_in_words([3, 4]) == "3, 4"
    assert value_in_words([[0, 1], []]) == "0: 0, 1 | 1: none"
    assert value_in_words((True, None)) == "true, nothing"


def test_a_scope_is_shown_as_it_is_given():
    program = Program(COMPONENTS["subpartition"], find_implementation("reference"))
    result = Explorer(program, scope_of(program.component, {})).explore(depth=0)
    console = CarefulConsole(width=200)
    with console.capture() as capture:
        console.print(exploration_table(result))
    assert "recovered=null" in capture.get()
    assert scope_of(program.component, {"recovered": "null"}).config == result.scope.config


ELEMENTS = {
    Buffer((1, 2)): ("records 1, 2", "records 1, 2"),
    Buffer(()): ("an empty buffer", "an empty buffer"),
    Barrier(3, Alignment.UNALIGNED): ("the unaligned barrier 3", "unaligned barrier 3"),
    Announcement(3, 7): ("the announcement of barrier 3", "announcement of barrier 3 with sequence number 7"),
    CancelMarker(3): ("the cancel marker of checkpoint 3", "cancel marker of checkpoint 3"),
    Event(3): ("event 3", "event 3"),
    RecoveryMetadata(0, 1): (
        "the recovery metadata of subtask 0, channel 1",
        "recovery metadata of subtask 0, channel 1",
    ),
    RecoveryCompletion(): ("the end of output state", "end of output state"),
    EndOfData(): ("the end of data", "end of data"),
    EndOfPartition(): ("the end of partition", "end of partition"),
}


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda one: type(one).__name__)
def test_rules_and_stories_have_the_same_words_for_an_element(element):
    assert (name(element), element_in_words(element)) == ELEMENTS[element]
