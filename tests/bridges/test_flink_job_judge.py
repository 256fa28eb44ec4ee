"""The judge of the job: it finds each kind of fault in fabricated ledgers, and accuses a clean run of nothing."""

from __future__ import annotations

import json

import msgspec
import pytest

from conformance.bridges.flink.job import Fault, JobConfig, Kind, Where, judge, read_lines
from conformance.bridges.flink.job.config import planned
from conformance.bridges.flink.job.lines import (
    NO_MORE,
    Assigned,
    Closing,
    Completed,
    Cut,
    End,
    Failed,
    Failure,
    Line,
    Paused,
    Restored,
    Returned,
    Start,
)

CONFIG = JobConfig(timeout_ms=1000)


def cut(sent=(), received=None, *, finished=False, reports=((), ())):
    """Both sides of one subtask; they agree unless it says otherwise."""
    return Cut(
        finished=finished,
        sent=sent,
        received=sent if received is None else received,
        reports_received=reports[0],
        reports_sent=reports[1],
    )


def completed(number, at, *cuts, triggered=None, savepoint=False):
    begun = at - 5 if triggered is None else triggered
    return Completed(at=at, triggered=begun, id=number, savepoint=savepoint, unaligned=False, subtasks=cuts)


BEGINNING: list[Line] = [
    Start(at=0, version="1"),
    Restored(at=100, subtask=0, checkpoint=-1, forgotten=(), forgotten_reports=0),
    Restored(at=100, subtask=1, checkpoint=-1, forgotten=(), forgotten_reports=0),
    Assigned(at=110, previous=0),
]
FIRST = completed(1, 150, cut((0, 1)), cut((2,)))


def ending(created=4, results=None, at=300) -> list[Line]:
    return [
        Closing(at=at, last_assigned=at - 10),
        End(at=at + 50, status="FINISHED", created=created, results=results or {0: (0, 1), 1: (2, 3)}),
    ]


CLEAN: list[Line] = [*BEGINNING, FIRST, completed(2, 200, cut((0, 1)), cut((2, 3))), *ending()]


def found(*lines, config=CONFIG):
    return [(one.kind, one.checkpoint, one.subtask) for one in judge(lines, config).findings]


def test_a_clean_run_is_accused_of_nothing():
    verdict = judge(CLEAN, CONFIG)
    assert verdict.findings == []
    assert (verdict.checkpoints, verdict.savepoints, verdict.compared, verdict.moving, verdict.units) == (2, 0, 4, 3, 4)


@pytest.mark.parametrize(
    ("sent", "received", "kinds"),
    [
        ((0, 1), (0,), [Kind.LOST]),
        ((0, 1), (1,), [Kind.LOST]),
        ((0,), (0, 1), [Kind.DOUBLED]),
        ((0, 1), (0, 1, 1), [Kind.DOUBLED]),
        ((0, 1), (1, 0), [Kind.REORDERED]),
        ((0, 1), (0, 5), [Kind.LOST, Kind.DOUBLED]),
        ((0, NO_MORE), (0,), [Kind.LOST]),
        ((0, -2), (0,), [Kind.LOST]),
    ],
)
def test_ledgers_that_differ_in_a_checkpoint_are_found(sent, received, kinds):
    wrong = completed(2, 200, cut((0, 1)), cut(sent, received))
    assert found(*BEGINNING, FIRST, wrong, *ending()) == [(kind, 2, 1) for kind in kinds]


def test_what_is_wrong_is_reported():
    wrong = completed(2, 200, cut((0, 1, NO_MORE, -3), (0,)), cut((2,)))
    (finding,) = judge([*BEGINNING, wrong, *ending()], CONFIG).findings
    assert finding.told == "sent before the cut and not received before it: 1, no more splits, notice 1"


@pytest.mark.parametrize(
    ("sent", "kinds"), [((0, -1, -2, -3), []), ((0, -1, 7, -3), [Kind.LOST]), ((0, 4, -1), [Kind.LOST])]
)
def test_a_reader_that_has_finished_misses_no_notice_but_it_misses_a_split(sent, kinds):
    line = completed(2, 200, cut(sent, (0, -1), finished=True), cut((2,)))
    verdict = judge([*BEGINNING, line, *ending()], CONFIG)
    assert [one.kind for one in verdict.findings] == kinds
    assert verdict.with_finished == 1


@pytest.mark.parametrize("side", ["sent", "received"])
def test_a_side_without_a_cut_is_found(side):
    missing = msgspec.structs.replace(cut((2,)), **{side: None})
    assert found(*BEGINNING, completed(2, 200, cut((0, 1)), missing), *ending()) == [(Kind.NO_CUT, 2, 1)]


def test_reports_that_are_under_way_are_counted_and_accuse_nobody():
    line = completed(2, 200, cut((0,), reports=((), (0,))), cut((2,), reports=((2,), (2,))))
    verdict = judge([*BEGINNING, line, *ending()], CONFIG)
    assert (verdict.findings, verdict.reports_differ) == ([], 1)


@pytest.mark.parametrize(
    ("results", "kinds"),
    [
        ({0: (0, 1), 1: (2,)}, [Kind.LOST]),
        ({0: (0, 1, 1), 1: (2, 3)}, [Kind.DOUBLED]),
        ({0: (0, 1), 1: (2, 1)}, [Kind.LOST, Kind.DOUBLED]),
        ({0: (3, 1), 1: (2, 0)}, []),
    ],
)
def test_units_are_accounted_for_at_the_end(results, kinds):
    assert found(*BEGINNING, FIRST, *ending(4, results)) == [(kind, None, None) for kind in kinds]


def test_a_job_that_does_not_end_is_found():
    assert found(*BEGINNING, FIRST) == [(Kind.UNFINISHED, None, None)]
    end = End(at=400, status="RUNNING", created=4, results={})
    assert found(*BEGINNING, FIRST, Closing(at=300, last_assigned=290), end) == [(Kind.UNFINISHED, None, None)]


@pytest.mark.parametrize(
    "lines",
    [
        [FIRST, Assigned(at=900, previous=880), *ending(at=1400)],  # no checkpoint until the end
        [completed(1, 1200, *FIRST.subtasks), *ending(at=1300)],  # none from the beginning
        [FIRST, completed(2, 900, *FIRST.subtasks), Assigned(at=1300, previous=200), *ending(at=1400)],
        [FIRST, completed(2, 900, *FIRST.subtasks), Closing(at=1400, last_assigned=300), ending(at=1400)[1]],
    ],
)
def test_standing_still_for_longer_than_the_timeout_is_found(lines):
    assert found(*BEGINNING, *lines) == [(Kind.STALLED, None, None)]


def test_standing_still_for_less_is_not():
    lines = [FIRST, completed(2, 1100, *FIRST.subtasks), Assigned(at=900, previous=200), *ending(at=1500)]
    assert found(*BEGINNING, *lines) == []


@pytest.mark.parametrize(
    ("pauses", "wrong"),
    [
        ([(300, 700)], []),
        ([(50, 300), (1250, 1500)], []),  # only the parts within the time count
        ([(300, 500)], [(Kind.STALLED, None, None)]),
        ([(20, 110), (1402, 2000)], [(Kind.STALLED, None, None)]),  # no part is within it
    ],
)
def test_a_job_that_cannot_work_does_not_stand_still(pauses, wrong):
    lines = [FIRST, Assigned(at=900, previous=880), *ending(at=1400)]  # no checkpoint between 150 and 1400
    told = [Paused(at=to, since=since) for since, to in pauses]
    assert found(*BEGINNING, *told, *lines) == wrong


def test_a_job_that_never_began_stands_still():
    assert found(BEGINNING[0], *ending()) == [(Kind.STALLED, None, None)]


def restart(units, forgotten, checkpoint=1) -> list[Line]:
    return [
        Failure(at=160, where="reader", subtask=0, checkpoint=-1),
        Returned(at=170, subtask=0, units=units),
        Restored(at=180, subtask=0, checkpoint=checkpoint, forgotten=forgotten, forgotten_reports=0),
        Assigned(at=185, previous=155),
    ]


@pytest.mark.parametrize(("units", "wrong"), [((3,), 0), ((), 1), ((3, 1), 1), ((4,), 2)])
def test_what_is_given_back_must_be_what_was_assigned_since(units, wrong):
    lines: list[Line] = [
        *BEGINNING,
        FIRST,
        *restart(units, (3, NO_MORE, -2)),
        completed(3, 200, *FIRST.subtasks),
        *ending(),
    ]
    assert found(*lines) == [(Kind.GIVEN_BACK, 1, 0)] * wrong


def test_after_a_restart_of_the_enumerator_nothing_need_be_given_back():
    again = Restored(at=180, subtask=0, checkpoint=1, forgotten=(), forgotten_reports=0)
    assert found(*BEGINNING, FIRST, again, *ending()) == []


@pytest.mark.parametrize(("finished", "kinds"), [(False, [(Kind.STATE_GONE, 1, 0)]), (True, [])])
def test_a_reader_that_has_not_finished_keeps_its_state(finished, kinds):
    first = completed(1, 150, cut((0, 1, NO_MORE), finished=finished), cut((2,)))
    assert found(*BEGINNING, first, *restart((), (0, 1, NO_MORE), -1), *ending()) == kinds


def test_recoveries_are_measured():
    lines: list[Line] = [
        *BEGINNING, FIRST, *restart((), ()),
        completed(2, 165, *FIRST.subtasks, triggered=155),  # it was triggered before the failure
        completed(3, 195, *FIRST.subtasks, triggered=190),
        *ending(),
    ]  # fmt: skip
    verdict = judge(lines, CONFIG)
    assert (verdict.failures, verdict.restored, verdict.findings) == (1, 1, [])
    assert (verdict.checkpoint_again, verdict.assigned_again) == ([35], [25])


def test_what_was_exercised_is_counted():
    failed: list[Line] = [
        Failed(at=160, triggered=120, id=2, savepoint=False, reason="Checkpoint expired before completing."),
        Failed(at=161, triggered=130, id=3, savepoint=True, reason=None),
    ]
    overlapping = completed(4, 170, *FIRST.subtasks, triggered=140, savepoint=True)
    verdict = judge([*BEGINNING, FIRST, *failed, overlapping, *ending()], CONFIG)
    assert (verdict.checkpoints, verdict.savepoints, verdict.overlapping, verdict.expired) == (1, 1, 1, 1)
    assert sum(verdict.failed.values()) == 2


# ---- lines -----------------------------------------------------------------------------------------------------------
def changed(number, **ledgers):
    subtask = {"finished": False, "reports_received": None, "reports_sent": None} | ledgers
    line = {"type": "completed", "at": 1, "triggered": 0, "id": number, "savepoint": False, "unaligned": False}
    return json.dumps(line | {"subtasks": [subtask]})


def test_ledgers_are_written_as_changes():
    first = changed(1, sent={"keep": 0, "add": [0, 1, 2]}, received=None)
    second = changed(2, sent={"keep": 2, "add": [5]}, received={"keep": 0, "add": [0]})
    one, two = read_lines([first, second])
    assert isinstance(one, Completed)
    assert isinstance(two, Completed)
    assert (one.subtasks[0].sent, one.subtasks[0].received) == ((0, 1, 2), None)
    assert (two.subtasks[0].sent, two.subtasks[0].received) == ((0, 1, 5), (0,))


@pytest.mark.parametrize(
    "wrong",
    ["{", '{"type": "strange", "at": 0}', '{"type": "start"}', changed(1, sent={"keep": 4, "add": []}, received=None)],
)
def test_a_line_that_is_not_understood_is_reported(wrong):
    with pytest.raises(ValueError, match="line 2 of the job is not understood"):
        read_lines(['{"type": "start", "at": 0, "version": "1"}', wrong])


# ---- configurations --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"interval_ms": 5}, "below 10 ms"),
        ({"on_request": True}, "must be busy"),
        ({"finish_early": (0, 1)}, "one reader at least"),
        ({"finish_early": (1,), "faults": (Fault(Where.READER, 0),), "shuffled": False}, "shuffle them"),
        ({"finish_early": (1,), "faults": (Fault(Where.READER, 1),)}, "cannot be the one that fails"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        JobConfig(**wrong)


def test_failures_follow_from_the_seed():
    wheres = (Where.READER, Where.ENUMERATOR)
    assert planned(1, wheres, (0, 1)) == planned(1, wheres, (0, 1)) != planned(2, wheres, (0, 1))
    assert [fault.where for fault in planned(1, wheres, (0, 1), 3)] == [*wheres, Where.READER]
