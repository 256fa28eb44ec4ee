"""What the history of an episode says of failures: what has struck, in which phase, and how many tasks failed of it."""

from __future__ import annotations

import msgspec
import pytest

from building.flink_causes import (
    CUTS,
    EPISODES,
    KINDS,
    RULE,
    Episode,
    Kind,
    Phase,
    Strike,
    cells,
    main,
    report,
    strikes,
)
from conformance.components.pipeline import steps
from conformance.ports import (
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointKind,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultKind,
    FaultStruck,
    JobRestarted,
    JobTaskChanged,
    Outcome,
    Run,
    TaskState,
    Triggered,
)
from conformance.scenarios import Entry

RUNNING, SAVEPOINT = steps.settle("running"), steps.trigger("savepoint")
RUNS, FAILED = JobTaskChanged(0, TaskState.RUNNING), JobTaskChanged(0, TaskState.FAILED, "task")
RESTARTED = JobRestarted(1, (Run(0, 0),))
TASK = FailureStruck(FailureTarget.TASK, 0, FailurePoint.NOW)
CUT = FailureStruck(FailureTarget.TASK, 0, FailurePoint.IN_SNAPSHOT)
OPENED = FaultStruck("operators-open", FaultKind.THROWS)


def said(*signals, step=RUNNING, value=None):
    return Entry(step, Outcome(value=value, signals=signals))


RESTORED = said(step=steps.restore(1, "up", "recover-first", True))
BEGAN = said(step=steps.trigger("aligned"), value=Triggered(2))
SAVED = said(step=SAVEPOINT, value=Triggered(2))
STOPS = said(step=steps.stop_with_savepoint(), value=Triggered(2))
ENDED = said(step=steps.end(0))


@pytest.mark.parametrize(
    ("entries", "phase"),
    [
        ([said(RUNS), said(TASK)], Phase.RUNNING),
        ([said(RUNS), BEGAN, said(TASK)], Phase.CHECKPOINT),
        ([said(RUNS), BEGAN, said(CheckpointCompleted(2, CheckpointKind.ALIGNED), TASK)], Phase.RUNNING),
        ([said(RUNS), said(CUT)], Phase.CHECKPOINT),
        ([said(RUNS), said(CheckpointBegun(2, CheckpointKind.ALIGNED), TASK)], Phase.CHECKPOINT),
        ([said(RUNS), SAVED, said(TASK)], Phase.SAVEPOINT),
        ([said(RUNS), STOPS, said(CheckpointCompleted(2, CheckpointKind.SAVEPOINT), TASK)], Phase.SAVEPOINT),
        ([said(RUNS), ENDED, BEGAN, said(TASK)], Phase.END),
        ([RESTORED, said(TASK)], Phase.RESTORING),
        ([RESTORED, said(RUNS), said(TASK)], Phase.RUNNING),
        ([RESTORED, said(OPENED)], Phase.RESTORING),
        ([said(RUNS), said(OPENED)], Phase.RESTARTING),
        ([RESTORED, said(RUNS), said(TASK, FAILED, RESTARTED), said(TASK)], Phase.RESTARTING),
        ([RESTORED, said(RUNS), said(TASK, FAILED, RESTARTED, RUNS), said(TASK)], Phase.RUNNING),
    ],
)
def test_the_history_says_in_which_phase_something_has_struck(entries, phase):
    assert strikes(entries)[-1].phase is phase


def test_tasks_fail_of_what_has_struck_last():
    found = strikes([said(RUNS), said(TASK, FAILED, OPENED, FAILED), said(FAILED)])
    assert [(one.target, one.point, one.failed) for one in found] == [("task", "now", 1), ("", "operators-open", 2)]


def test_each_kind_can_strike_in_some_phase():
    assert {kind for kind, _ in cells(*Phase)} == set(KINDS)
    assert not [kind for kind, _ in cells(Phase.RUNNING) if kind.point in CUTS]


def episode(number, *struck, violation=""):
    return Episode("2.3.0", number, list(struck), 1, 0.5, violation)


def test_the_report_names_what_was_never_struck_and_what_else_was_broken():
    strike = Strike("task", "now", Phase.RUNNING, 1)
    text = report([episode(0, strike), episode(1, strike), episode(2, violation="a-rule")])
    assert "In 3 episodes, 2 failures have struck; 2 tasks failed" in text
    assert "**no violations**" in text
    assert next(line for line in text.splitlines() if line.startswith("| task, now")).endswith("| 2 / 2 |")
    assert "| 2.3.0 | `a-rule` | nothing: 1 |" in text
    assert f"{Kind('job', 'now')} (while running)" in text


def test_the_report_says_what_was_asked_for_in_vain_and_what_was_not():
    meant = [(Kind("job", "now"), Phase.RUNNING)]
    known = msgspec.json.decode(msgspec.json.encode(Episode("2.3.0", 0, meant=meant)), type=Episode)
    assert known.meant == meant
    lines = report([known]).splitlines()
    asked = next(line for line in lines if line.startswith("- It was asked for, but tasks ran before"))
    assert asked.endswith(": job, now (while running).")
    assert any(line.startswith("- No episode has asked for it: ") for line in lines)
    earlier = report([known, msgspec.json.decode(b'{"release": "2.3.0", "number": 1}', type=Episode)])
    assert "No episode has asked for it" not in earlier
    assert "- It has not struck; the results do not say whether it was asked for: " in earlier


def test_what_was_run_is_not_run_again_and_a_broken_rule_is_a_status(tmp_path, capsys):
    lines = [msgspec.json.encode(episode(number, violation=RULE)) for number in range(2)]
    (tmp_path / EPISODES).write_bytes(b"\n".join(lines))
    assert main(["--episodes", "2", "--others", "0", "--keep", str(tmp_path)]) == 1
    assert "**2 violations**" in capsys.readouterr().out
