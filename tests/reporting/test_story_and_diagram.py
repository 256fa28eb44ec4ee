import io
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.engines import read_scenario, replay
from conformance.ports import (
    Buffer,
    DataAvailable,
    Error,
    ErrorKind,
    Outcome,
    OutputState,
    PriorityAvailable,
    Resources,
    StateStatus,
    find_implementation,
)
from conformance.reporting import Mark, sequence_diagram, story_markdown, tell
from conformance.reporting.console import CarefulConsole
from conformance.reporting.words import (
    element_in_words,
    outcome_in_words,
    plain,
    signals_in_words,
    step_in_words,
    value_in_words,
)
from conformance.scenarios import canonical, decode_scenario
from conformance.system.text import mermaid


def run(steps, implementation="known-bug:B-01", component="subpartition"):
    scenario = decode_scenario(
        canonical({"schema": 1, "component": component, "config": {}, "steps": steps}), COMPONENTS
    )
    return replay(scenario, find_implementation(implementation))


STEPS = [["attach_view"], ["append"], ["aligned_barrier", 1], ["poll"], ["unaligned_barrier", 2], ["poll"]]


def test_the_story_of_a_failure():
    story = tell(run(STEPS), run(STEPS, "reference"))
    told = [(one.number, one.actor, one.step, one.answer, one.signals, one.mark) for one in story.steps]
    assert told == [
        (1, "consumer", "attach_view", "done", "", Mark.NONE),
        (2, "producer", "append", "", "", Mark.SKIPPED),
        (3, "producer", "aligned_barrier (checkpoint 1)", "added", "data is available", Mark.NONE),
        (4, "consumer", "poll", "aligned barrier 1, sequence number 0, next type none, backlog 0", "", Mark.NONE),
        (5, "producer", "unaligned_barrier (checkpoint 2)", "added", "", Mark.DIVERGENT),
    ]
    assert story.divergent == story.steps[4]
    assert story.slug == "a-blocked-subpartition-announces-priority-events"
    assert story.expected.startswith("the consumer must be notified of the priority event")
    assert story.observed == "the consumer was not notified of any"
    assert story.outcome == "added; no signal"
    assert story.reference == "added; signals: a priority event with sequence number 1 is available"
    assert story.earlier is None
    assert "| 2 | producer | `append` |  |  | skipped |" in story_markdown(story)
    assert (
        "| **5** | **producer** | **`unaligned_barrier (checkpoint 2)`** | **added** |  | **here** |"
        in story_markdown(story)
    )


def test_a_failure_in_the_drain_is_marked_as_such():
    steps = [["add", 0], ["add_priority", 1], ["prioritize", 0]]
    story = tell(run(steps, "known-bug:B-D1", "deque"))
    assert story.divergent is not None
    assert story.divergent.remark == "drain, here"


def test_a_scenario_without_steps_is_shown_by_the_steps_of_the_drain():
    scenario = read_scenario(Path(__file__).parent.parent / "corpus" / "B-S24.json")
    shown = replay(scenario, find_implementation("known-bug:B-S24"))
    story = tell(shown, replay(scenario, find_implementation("reference")))
    assert (story.own_steps, story.length) == (0, "no steps and 7 of the fair drain")
    assert [one.remark for one in story.steps] == ["drain"] * 6 + ["drain, here"]
    assert [one.step for one in story.steps][-2:] == ["poll", "poll"]
    assert story.in_the_drain is not None
    assert story.in_the_drain.startswith("The scenario has no steps of its own: a new subpartition fails in the fair")
    assert story.in_the_drain in printed(story)
    lines = sequence_diagram(shown).splitlines()
    assert lines.index("    Note over subpartition: the scenario has no steps, the run is drained") == 4
    assert lines[5] == "    recovery->>subpartition: 1. recover"
    assert sum("recover" in line or "poll" in line for line in lines if "->>subpartition" in line) == 5


def test_where_the_drain_begins_is_shown_if_the_failure_shows_there():
    story = tell(run([["add", 0], ["add_priority", 1], ["prioritize", 0]], "known-bug:B-D1", "deque"))
    assert story.in_the_drain == "The failure shows in the fair drain, which begins at step 4."
    assert tell(run(STEPS)).in_the_drain is None
    assert tell(run([], "reference")).in_the_drain is None
    assert tell(run(STEPS)).length == "5 steps"


def printed(story):
    console = CarefulConsole(width=400, record=True, file=io.StringIO())
    console.print(story)
    return console.export_text()


def test_an_earlier_difference_from_the_reference_is_shown():
    mine = run(
        [["add_priority", 1], ["add", 1], ["prioritize", 0], ["items"], ["prioritize", 1]], "known-bug:B-D1", "deque"
    )
    other = run([["add_priority", 1], ["add", 1], ["prioritize", 0], ["count_priority"], ["prioritize", 1]],
                "reference", "deque")  # fmt: skip
    story = tell(mine, other)
    assert story.earlier is not None
    assert story.earlier.number == 4
    assert story.from_the_reference == "The first result that differs from the reference's is that of step 4."


def test_the_diagram_of_a_failure():
    owed = "the consumer must be notified"
    lines = sequence_diagram(run(STEPS), run(STEPS, "reference")).splitlines()
    note = next(index for index, line in enumerate(lines) if owed in line)
    assert (
        "<br/>observed: the consumer was not notified of any"
        "<br/>the reference: added#59; signals: a priority event with sequence number 1 is available" in lines[note]
    )
    assert lines[:note] == [
        "sequenceDiagram",
        "    participant producer",
        "    participant subpartition",
        "    participant consumer",
        "    consumer->>subpartition: 1. attach_view",
        "    producer->>subpartition: 3. aligned_barrier (checkpoint 1)",
        "    subpartition--)consumer: data is available",
        "    subpartition->>producer: added",
        "    consumer->>subpartition: 4. poll",
        "    subpartition->>consumer: aligned barrier 1, sequence number 0, next type none, backlog 0",
        "    rect rgba(220, 50, 47, 0.18)",
        "        producer->>subpartition: 5. unaligned_barrier (checkpoint 2)",
        "        subpartition->>producer: added",
    ]
    assert lines[note].startswith("        Note over subpartition: ")
    assert lines[note + 1 :] == ["    end"]


def test_the_diagram_shows_where_the_drain_begins():
    text = sequence_diagram(run([["attach_view"]], "reference"))
    assert text.count("the run is drained") == 1
    assert "rect" not in text


@pytest.mark.parametrize("text", ["a;b", "#x", 'say "so"', "<b>", "%%{init}%%", "$$x$$", "a\nb", "`x`"])
def test_nothing_that_mermaid_would_read_is_left(text):
    shown = mermaid(text)
    for entity in ("#35;", "#59;", "#quot;", "#lt;", "#gt;", "#37;", "#36;", "#123;", "#125;", "#96;"):
        shown = shown.replace(entity, "")
    assert not set(shown) & set('#;"<>%${}`\n')


def test_words():
    component = COMPONENTS["subpartition"]
    assert step_in_words(("finish_recovery", True), component) == "finish_recovery (block true)"
    assert step_in_words(("poll",), component) == "poll"
    assert element_in_words(Buffer((3,))) == "record 3"
    assert element_in_words(Buffer((3, 4), finished=False)) == "records 3, 4 (unfinished)"
    assert element_in_words(Buffer(())) == "an empty buffer"
    assert value_in_words(OutputState(StateStatus.WRITTEN, (1, 2))) == "written: records 1, 2"
    assert value_in_words(OutputState(StateStatus.PENDING)) == "pending"
    assert (
        value_in_words(Resources(segments=2, heap=1, listeners=1))
        == "2 segments, 1 heap segment, files unknown, 1 listener, futures unknown"
    )
    assert value_in_words(Resources(0, 0, 0, 0, 0)) == "nothing is held"
    assert value_in_words(Resources(0, 0, 1, 0, 0, open_files=2, grants=1)) == "1 file, 2 open files, 1 grant"
    assert signals_in_words((DataAvailable(), PriorityAvailable(3))) == (
        "data is available", "a priority event with sequence number 3 is available",
    )  # fmt: skip
    error = Error(ErrorKind.CRASHED, "OSError: /a/b/c.txt in <object at 0x7f00aa>, see https://example.org/x/y")
    assert outcome_in_words(Outcome(error=error)) == (
        "error of kind crashed: OSError: c.txt in <object>, see https://example.org/x/y"
    )


def test_paths_lose_their_folders_and_fractions_stay():
    assert plain("3/4 of C:\\Users\\me\\x.py and ../up.py") == "3/4 of x.py and ../up.py"
