"""The time line of a job shows its graph, its attempts, its checkpoints, and where each failure struck."""

from __future__ import annotations

from itertools import combinations

import pytest

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.engines import Replay, replay
from conformance.ports import JobSettings, ThreadWoken, find_implementation, find_known_bug
from conformance.reporting import sequence_diagram, tell
from conformance.reporting.time_line import Sign, TimeLine, time_line_of
from conformance.reporting.time_line_drawing import time_line_drawing
from conformance.scenarios import Scenario, Step
from tests.reporting.job_page import page
from tests.scenarios.named_jobs import NAMED


def replayed(*steps: Step, graph: str = "keyed", name: str = "reference") -> Replay:
    return replay(Scenario("pipeline", make(graph, 1), steps), find_implementation(name))


def drawn(*steps: Step, graph: str = "keyed") -> TimeLine:
    shown = time_line_of(replayed(*steps, graph=graph))
    assert shown is not None
    return shown


IDLE: Step = ("settle", "idle")


def test_a_checkpoint_is_a_line_from_its_trigger_to_its_end():
    shown = drawn(("settle", "running"), ("trigger", "aligned"), ("trigger", "savepoint"), IDLE)
    rows = [(row.job, row.checkpoints) for row in shown.rows if not row.in_drain]
    assert rows[0] == (Sign.BEGINS, ())
    assert rows[1] == (Sign.GOES_ON, (Sign.BEGINS,))
    assert Sign.COMPLETE in rows[-1][1]


def test_a_failure_and_the_restart_are_where_they_happen():
    shown = drawn(IDLE, ("trigger", "unaligned"), IDLE, ("fail", "task", 1, "now"), IDLE)
    (struck,) = [row for row in shown.rows if row.job is Sign.STRUCK]
    assert struck.numbers == "4"
    assert "task 1 (count 1, subtask 0) fails" in struck.text
    (restarted,) = [row for row in shown.rows if row.job is Sign.RESTARTS]
    assert restarted.numbers == "5"
    assert "3 tasks restarted from checkpoint 1" in restarted.text


def test_a_job_that_is_gone_has_no_line_until_it_is_restored():
    shown = drawn(IDLE, ("kill",), ("resources",), ("restore", 0, "same", "pushed", True))
    assert [row.job for row in shown.rows[:4]] == [Sign.BEGINS, Sign.ENDS, Sign.NOTHING, Sign.BEGINS]


def test_a_checkpoint_that_goes_with_the_job_has_failed():
    shown = drawn(IDLE, ("throttle", 2, True), ("trigger", "aligned"), ("kill",))
    assert shown.rows[3].checkpoints == (Sign.STRUCK,)


def test_turns_in_which_nothing_happens_are_one_row():
    shown = drawn(("work", "master"), ("work", "task 0/0"), ("supply", 0, 1))
    assert (shown.rows[0].numbers, shown.rows[0].text) == ("1-2", "2 turns")


def test_the_drain_begins_with_a_row_of_its_own():
    shown = drawn(("work", "master"))
    assert [row.in_drain for row in shown.rows[:2]] == [False, True]


def test_a_long_drain_is_shortened_to_its_beginning_and_its_end():
    broken = replayed(("end", 0), ("fail", "job", 0, "between-cuts"), graph="one edge", name="known-bug:B-J62")
    shown = time_line_of(broken)
    assert shown is not None
    assert len(broken.history.entries) > 300
    assert len(shown.rows) < 30
    assert shown.rows[-1].here
    (gap,) = [row for row in shown.rows if row.text.startswith("…")]
    first, last = map(int, gap.numbers.split("-"))
    assert gap.text == f"… {last - first + 1} steps of the drain are left out …"


def test_steps_of_one_kind_are_one_row():
    shown = drawn(("supply", 0, 1), ("supply", 1, 3), ("throttle", 2, True), ("supply", 0, 1))
    rows = [(row.numbers, row.text) for row in shown.rows[:3]]
    assert rows[0] == ("1-2", "supply (split 0, count 1), (split 1, count 3)")
    assert [numbers for numbers, _ in rows[1:]] == ["3", "4"]


def test_a_job_begins_once():
    shown = drawn()
    assert [row.job for row in shown.rows].count(Sign.BEGINS) == 1


def test_a_task_of_a_restored_job_has_the_name_that_it_has_there():
    shown = drawn(("kill",), ("restore", 0, "3", "pushed", True), IDLE, ("fail", "task", 4, "now"))
    (struck,) = [row for row in shown.rows if row.job is Sign.STRUCK]
    assert "task 4 (count 1, subtask 1) fails" in struck.text


def test_the_design_and_unusual_settings_are_named():
    config = make("keyed", 1, JobSettings(regions=False, alignment_timeout=20))
    shown = time_line_of(replay(Scenario("pipeline", config, (IDLE,)), find_implementation("reference")))
    assert shown is not None
    assert shown.settings == ("recovery recover-first", "alignment timeout 20", "regions false")


def test_a_failure_hides_the_restart_in_the_same_step():
    shown = drawn(IDLE, ("fail", "master", 0, "completed"), ("trigger", "aligned"), IDLE)
    (row,) = [row for row in shown.rows if "the job master fails" in row.text]
    assert "restarted from" in row.text
    assert row.job is Sign.STRUCK


def test_who_may_work_next_is_in_no_story_and_no_diagram():
    seen = replayed(IDLE, ("trigger", "aligned"), IDLE)
    outcome = seen.history.entries[0].outcome
    assert outcome is not None
    assert ThreadWoken("master") in outcome.signals
    said = [signal for step in tell(seen).steps for signal in step.emitted]
    assert "task 0 is running" in said
    assert "thread master has something to do" not in said
    assert "something to do" not in sequence_diagram(seen)
    assert "pipeline--)user: checkpoint 1 (aligned) is complete" in sequence_diagram(seen)


def test_a_component_that_is_no_job_has_no_time_line():
    steps: tuple[Step, ...] = (("poll",),)
    other = COMPONENTS["subpartition"]
    assert time_line_of(replay(Scenario(other.name, other.configs[0], steps), find_implementation("reference"))) is None


@pytest.mark.parametrize("name", ["three phases, up and down, pushed", "multi-input, down, pushed"])
@pytest.mark.parametrize("width", [80, 120])
def test_the_text_fits_its_width(name: str, width: int):
    shown = time_line_of(replay(NAMED[name], find_implementation("reference")))
    assert shown is not None
    lines = shown.lines(width)
    assert max(map(len, lines)) <= width
    assert "source 0 \N{MULTIPLICATION SIGN}2 ─hash→ " in lines[0]


def test_each_edge_is_in_one_path_of_the_graph():
    lines = drawn(IDLE, graph="two inputs").lines()
    text = "\n".join(lines[: lines.index("")])
    assert text.count("→") == len(make("two inputs", 1).edges)


def test_boxes_stand_right_of_what_they_read_and_do_not_overlap():
    drawing = time_line_drawing(drawn(IDLE, graph="two inputs"))
    assert len(drawing.boxes) == 5
    assert all(link.x < link.to_x for link in drawing.links)
    for one, other in combinations(drawing.boxes, 2):
        beside = one.x + one.width < other.x or other.x + other.width < one.x
        assert beside or abs(one.y - other.y) >= 30, "they do not overlap"
    assert all(band.y + band.height <= drawing.height for band in drawing.bands)


def test_the_page_draws_the_shortest_scenario_of_each_known_bug():
    bug = find_known_bug("B-J51")
    steps: tuple[Step, ...] = (("settle", "idle"), ("trigger", "aligned"), IDLE, ("fail", "task", 0, "now"))
    text = page([bug, find_known_bug("B-J50")], {"B-J51": Scenario("pipeline", make("one edge", 1), steps)})
    assert "### B-J51" in text
    assert "### B-J50" not in text
    assert "a-failover-restores-the-newest-checkpoint" in text
    drawn_lines = [line for block in text.split("```")[1::2] for line in block.splitlines()]
    assert max(map(len, drawn_lines)) <= 80
    assert any(line.endswith("<- here") for line in drawn_lines)
