"""How reports show threads: which thread acts, and where its operations pause, go on and end."""

from __future__ import annotations

import pytest

from conformance.driver import FailureClass
from conformance.engines import Found, replay
from conformance.ports import (
    Announcement,
    Buffer,
    BufferOrEvent,
    CheckpointAcknowledged,
    ConsumptionResumed,
    CreditAnnounced,
    StateConsumed,
)
from conformance.reporting import Mark, Report, sequence_diagram, story_markdown, tell
from conformance.reporting.bug_report import this_environment, write_bug_report
from conformance.reporting.console import CarefulConsole
from conformance.reporting.words import FAILURE_CLASSES, element_in_words, value_in_words
from conformance.scenarios import Scenario
from tests.engines import toy, toy_gate

DEADLOCK = (
    ("push", 0), ("take",), ("finish", "recovery"), ("run", "network", ""), ("convert", 0),
    ("run", "recovery", "gate lock"), ("run", "task", "channel 0 lock"),
)  # fmt: skip
STUCK = (("take",), ("push", 0), ("finish", "recovery"), ("run", "task", "channel 0 lock"), ("convert", 0))


def run(steps, name: str | None = None, interleaving: str = "fine"):
    scenario = Scenario("toy-gate", toy_gate.ToyConfig(1, interleaving), steps)  # type: ignore[arg-type]
    return replay(scenario, toy_gate.Toy() if name is None else toy.BUGS[name].build(), components=toy.COMPONENTS)


def test_the_story_of_a_deadlock():
    story = tell(run(DEADLOCK, "deadlock"), run(DEADLOCK))
    assert [(one.number, one.actor, one.step, one.answer, one.signals, one.mark) for one in story.steps] == [
        (1, "recovery", "push (channel 0)", "pauses before it takes the channel 0 lock", "", Mark.NONE),
        (2, "task", "take", "pauses before it takes the gate lock", "", Mark.NONE),
        (3, "recovery", "push (channel 0), continued", "done", "data is available", Mark.NONE),
        (4, "network", "goes on", "", "", Mark.SKIPPED),
        (5, "recovery", "convert (channel 0)", "pauses before it takes the channel 0 lock", "", Mark.NONE),
        (6, "recovery", "convert (channel 0), continued", "pauses before it takes the gate lock", "", Mark.NONE),
        (7, "task", "take, continued", "pauses before it takes the channel 0 lock", "", Mark.DIVERGENT),
    ]
    assert story.slug == "threads-do-not-deadlock"
    assert "waits for the gate lock, which task holds" in story.observed
    assert story.reference is None  # the reference pauses at other places
    assert story.earlier is None


def test_an_operation_that_never_ends_is_shown_where_it_waits():
    story = tell(run(STUCK, "lost-wake-up"), run(STUCK))
    assert story.divergent is not None
    assert (story.divergent.actor, story.divergent.step) == ("task", "take, continued")
    assert (story.divergent.answer, story.divergent.remark) == ("pauses where it waits for data", "drain, here")
    assert story.steps[-1].step == "convert (channel 0), continued"


def test_the_reference_is_asked_what_it_returned_from_the_same_operation():
    steps = (
        ("convert", 1), ("finish", "recovery"), ("barrier", 1), ("finish", "network"), ("convert", 0),
        ("finish", "recovery"), ("take",), ("finish", "task"), ("start_checkpoint",), ("run", "task", "channel 0 lock"),
        ("arrive", 0), ("finish", "network"), ("barrier", 0),
    )  # fmt: skip
    scenario = Scenario("toy-gate", toy_gate.ToyConfig(2, "fine"), steps)
    known = toy.COMPONENTS
    broken = replay(scenario, toy.BUGS["two-sections"].build(), components=known)
    story = tell(broken, replay(scenario, toy_gate.Toy(), components=known))
    assert story.outcome == "none; no signal"
    assert story.reference == "0; no signal"
    assert story.from_the_reference is None


def test_the_diagram_of_a_race_has_a_lane_for_each_thread():
    lines = [line.strip() for line in sequence_diagram(run(DEADLOCK, "deadlock")).splitlines()]
    assert lines[1:5] == [
        "participant recovery", "participant task", "participant toy_gate as toy-gate", "participant consumer",
    ]  # fmt: skip
    assert lines[5:16] == [
        "recovery->>toy_gate: 1. push (channel 0)",
        "toy_gate-->>recovery: pauses before it takes the channel 0 lock",
        "task->>toy_gate: 2. take",
        "toy_gate-->>task: pauses before it takes the gate lock",
        "recovery->>toy_gate: 3. push (channel 0), continued",
        "toy_gate--)consumer: data is available",
        "toy_gate->>recovery: done",
        "recovery->>toy_gate: 5. convert (channel 0)",
        "toy_gate-->>recovery: pauses before it takes the channel 0 lock",
        "recovery->>toy_gate: 6. convert (channel 0), continued",
        "toy_gate-->>recovery: pauses before it takes the gate lock",
    ]
    assert lines[16].startswith("rect")
    assert lines[17:19] == [
        "task->>toy_gate: 7. take, continued",
        "toy_gate-->>task: pauses before it takes the channel 0 lock",
    ]


def test_a_report_of_a_race_says_what_continued_means(tmp_path):
    replayed = run(DEADLOCK, "deadlock")
    assert replayed.violation is not None
    broken = replayed.violation.broken
    found = Found(replayed.violation.signature, broken.owed, broken.observed, replayed.history.scenario, 3)
    environment = this_environment("toy", "1")
    folder = write_bug_report(tmp_path, Report(found, replayed, "toy", environment=environment))
    text = (folder / "report.md").read_text()
    assert "(deadlocked)" in text
    assert "**deadlocked**: threads are deadlocked" in text
    assert "| 3 | recovery | `push (channel 0)`, continued | done | data is available |" in text
    assert "*continued*: “who” is a thread." in text
    assert "at step 7 of 7 (`take`, continued)" in text


def test_a_story_without_pauses_says_nothing_of_them():
    replayed = run((("push", 0), ("take",)), interleaving="whole")
    assert "continued" not in story_markdown(tell(replayed))
    console = CarefulConsole(width=100, record=True, file=None)
    with console.capture() as captured:
        console.print(tell(replayed))
    assert "continued" not in captured.get()


def test_words_of_threads_and_channels():
    assert FAILURE_CLASSES.keys() == set(FailureClass)
    assert element_in_words(Announcement(3, 7)) == "announcement of barrier 3 with sequence number 7"
    assert value_in_words(BufferOrEvent(1, Buffer((3,)), True, False)) == "record 3 from channel 1, more follows"


@pytest.mark.parametrize(
    ("signal", "who"),
    [(CreditAnnounced(1), "upstream"), (ConsumptionResumed(), "upstream"), (StateConsumed(), "consumer"),
     (CheckpointAcknowledged(1), "checkpoint_coordinator")],
)  # fmt: skip
def test_signals_go_to_whom_they_are_for(signal, who, monkeypatch):
    monkeypatch.setattr(toy_gate, "DataAvailable", lambda: signal)
    text = sequence_diagram(run((("push", 0), ("finish", "recovery"))))
    assert f"    participant {who}" in text
    assert f"toy_gate--){who}: " in text
