"""The operator coordinator holder of released Flink: what the adapter does, and the findings, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bridges.flink import FlinkCoordinator, releases
from conformance.engines import load_known_failures, standing
from conformance.ports import (
    NO_CHECKPOINT,
    Capability,
    CheckpointAbortNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    CoordinatorReset,
    ErrorKind,
    EventTransmitted,
    GlobalFailoverTriggered,
    Message,
    PortError,
    ReportReceived,
    ReportTransmitted,
    RestoredEvents,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

BEGINNING = RestoredEvents(NO_CHECKPOINT, ())


class Driver:
    """A port, and how many turns wait for the main thread."""

    def __init__(self, implementation, parallelism=1, running=True, **config):
        self.port = implementation.components()["coordinator"](CoordinatorConfig(parallelism, **config))
        self.waiting = 0
        if running:
            for subtask in range(parallelism):
                self("run", subtask, 0)
            self.turns()

    def heard(self):
        """The signals since the last call, without those that say that a turn was queued."""
        signals, self.port.signals = self.port.signals, []
        self.waiting += sum(type(one) is TurnQueued for one in signals)
        return [one for one in signals if type(one) is not TurnQueued]

    def __call__(self, operation, *operands):
        getattr(self.port, operation)(*operands)
        return self.heard()

    def turn(self):
        self.waiting -= 1
        return self("turn")

    def turns(self):
        """Runs all turns, also those that they queue. Returns the signals."""
        self.waiting += sum(type(one) is TurnQueued for one in self.port.signals)
        self.port.signals.clear()
        signals = []
        while self.waiting:
            signals += self.turn()
        return signals

    def fully(self, operation, *operands):
        """Performs an operation and all turns. Returns the signals."""
        return [*self(operation, *operands), *self.turns()]

    def hold(self, checkpoint):
        """A checkpoint that the coordinator has cut, so that it holds the gates; nothing was on its way."""
        assert self.fully("trigger", checkpoint) == [CheckpointRequested(checkpoint)]
        assert self.fully("cut", checkpoint, True) == [CoordinatorCheckpointed(checkpoint, True)]

    def raises(self):
        """Runs a turn from which an exception escapes. Returns what was heard before, and the exception."""
        self.waiting -= 1
        with pytest.raises(PortError) as caught:
            self.port.turn()
        assert caught.value.kind is ErrorKind.STATE
        return self.heard(), caught.value.reason


def left(subtask, number, attempt=0):
    return EventTransmitted(subtask, attempt, Message(subtask, attempt, number))


@pytest.fixture
def one(flink_coordinator):
    return Driver(flink_coordinator)


@pytest.fixture
def three(flink_coordinator):
    return Driver(flink_coordinator, 3)


# ---- what the adapter does -------------------------------------------------------------------------------------------
def test_it_says_what_it_is(flink_coordinator):
    assert (flink_coordinator.name, flink_coordinator.version) == ("flink-coordinator", flink_coordinator.release)
    assert flink_coordinator.capabilities == {Capability.DOWN_GATE, Capability.RESOURCES}
    assert tuple(flink_coordinator.components()) == ("coordinator",)


def test_an_event_is_sent_in_a_turn_and_its_ticket_ends_with_the_reply(one):
    assert one("send", Message(0, 0, 0)) == []
    assert one.turn() == [left(0, 0)]
    assert one.port.resources().futures == 1
    assert one.port.deliver(0, 0) == Message(0, 0, 0)
    assert one.fully("reply", 0, 0) == [TicketEnded(Message(0, 0, 0), True)]
    assert one.port.resources().futures == 0


@pytest.mark.parametrize("lost", ["lose_event", "lose_reply"])
def test_a_lost_request_lets_the_task_fail_before_its_ticket_ends(one, lost):
    one.fully("send", Message(0, 0, 0))
    if lost == "lose_reply":
        one.port.deliver(0, 0)
    assert one.fully(lost, 0, 0) == [TaskFailoverTriggered(0, 0), TicketEnded(Message(0, 0, 0), False)]


def test_an_attempt_that_fails_takes_its_requests_with_it(one):
    one.fully("send", Message(0, 0, 0))
    assert one("fail_attempt", 0, 0, ()) == [SubtaskFailed(0, 0)]
    assert one.turns() == [TicketEnded(Message(0, 0, 0), False)]
    assert one.fully("restart", (0,), BEGINNING, ()) == [SubtaskReset(0, NO_CHECKPOINT)]
    assert one.fully("run", 0, 1) == [SubtaskReady(0, 1)]


def test_events_wait_for_the_snapshot_of_their_own_subtask(three):
    three.hold(1)
    for subtask in range(3):
        assert three.fully("send", Message(subtask, 0, 0)) == []
    assert three("barrier", 1, 0, 1, True, ()) == [ReportTransmitted(1, 0)]
    assert three.fully("arrive", 1, 0) == [left(1, 0)]
    assert three.fully("abort", 1, False) == [left(0, 0), left(2, 0), CheckpointAbortNotified(1)]


def test_a_snapshot_that_fails_is_not_acknowledged_and_what_its_hooks_sent_is(one):
    report = Message(0, 0, 0)
    assert one("barrier", 0, 0, 1, False, (report,)) == [ReportTransmitted(0, 0, report)]
    assert one.fully("arrive", 0, 0) == [ReportReceived(0, 0, report)]


def test_the_job_master_refuses_a_report_of_an_attempt_that_is_over(one):
    one("report", Message(0, 0, 0))
    one("arrive", 0, 0)
    assert one("fail_attempt", 0, 0, ()) == [SubtaskFailed(0, 0)]
    assert one.turns() == []


def test_the_job_is_failed_once(one):
    one("fail_job")
    assert one.fully("fail_job") == [GlobalFailoverTriggered()]
    restarted = one.fully("restart_all", BEGINNING, ())
    assert restarted == [SubtaskFailed(0, 0), CoordinatorReset(NO_CHECKPOINT)]
    assert one.fully("fail_job") == [GlobalFailoverTriggered()]


def test_without_checkpoints_there_may_be_several_attempts_and_one_id_is_saved_again_and_again(flink_coordinator):
    batch = Driver(flink_coordinator, checkpointing=False)
    batch("speculate", 0)
    assert batch.fully("run", 0, 1) == [SubtaskReady(0, 1)]
    for attempt in (0, 1):
        assert batch.fully("send", Message(0, attempt, attempt)) == [left(0, attempt, attempt)]
        batch.port.deliver(0, attempt)
        batch.fully("reply", 0, attempt)
    for _ in range(2):
        assert batch.fully("trigger", -1) == [CheckpointRequested(-1)]
        assert batch.fully("cut", -1, True) == [CoordinatorCheckpointed(-1, True)]


def test_a_fresh_job_master_is_restored_with_any_parallelism(flink_coordinator):
    restored = Driver(flink_coordinator, 2, restored=RestoredEvents(7, ((),)))
    assert restored.port.signals == []
    restored.hold(8)
    assert restored.port.resources().futures == 0
    for _ in range(2):
        restored.port.release()


def test_what_is_not_possible_now_is_a_state_error(one):
    for operation, operands in (("turn", ()), ("deliver", (0, 0)), ("send", (Message(0, 5, 0),)), ("cut", (3, True))):
        with pytest.raises(PortError) as caught:
            one(operation, *operands)
        assert caught.value.kind is ErrorKind.STATE


# ---- findings: reports/flink-coordinator-findings.md -----------------------------------------------------------------
def test_a_savepoint_that_fails_before_it_begins_opens_the_gates_of_a_checkpoint_in_progress(one):
    """The location of savepoint 2 cannot be made: its trigger fails, and it is aborted. No coordinator knows it."""
    one.hold(1)
    one.fully("send", Message(0, 0, 0))
    one("abort", 2, True)
    assert one.turn() == [left(0, 0)], "the subtask has not taken its snapshot of checkpoint 1"
    assert "unseen checkpoint" in one.raises()[1]


def test_after_an_abort_the_next_checkpoint_does_not_wait_for_what_the_aborted_one_waited_for(one):
    one.hold(1)
    one.fully("send", Message(0, 0, 0))
    one.fully("trigger", 2)
    assert one.fully("cut", 2, True) == []
    one.fully("abort", 2, True)
    one.fully("trigger", 3)
    assert one.fully("cut", 3, True) == [CoordinatorCheckpointed(3, True)]
    one("barrier", 0, 0, 1, True, ())
    assert one.fully("arrive", 0, 0) == [left(0, 0)], "it belongs to checkpoint 3, whose barrier may have arrived"


def test_an_abort_after_a_reset_leaves_the_other_gates_held(three):
    three.hold(1)
    for subtask in (1, 2):
        three.fully("send", Message(subtask, 0, 0))
    three("fail_attempt", 0, 0, ())
    assert three("restart", (0,), BEGINNING, (1,)) == [SubtaskReset(0, NO_CHECKPOINT)]
    heard, reason = three.raises()
    assert heard == [], "the coordinator is not told of the abort"
    assert "unseen checkpoint" in reason
    assert three.fully("run", 0, 1) == [SubtaskReady(0, 1)]
    three.fully("trigger", 2)
    assert three.fully("cut", 2, True) == [], "it waits for the events of checkpoint 1, which nobody opens"
    assert three.fully("abort", 2, True) == [CheckpointAbortNotified(2)]
    assert three.port.resources().futures == 3


def test_a_late_cut_after_such_an_abort_ends_the_job_master(flink_coordinator):
    mine = FlinkCoordinator(flink_coordinator.release)
    try:
        two = Driver(mine, 2)
        two.fully("trigger", 1)
        two("fail_attempt", 0, 0, ())
        two("restart", (0,), BEGINNING, (1,))
        two.raises()
        two("cut", 1, True)
        with pytest.raises(PortError, match=r"status 239 .Flink's fatal error handler ended the JVM"):
            two.turn()
    finally:
        mine.close()


def test_a_savepoint_holds_the_gate_of_a_finished_subtask(flink_coordinator):
    two = Driver(flink_coordinator, 2)
    two("finish", 0, 0)
    two.hold(1)
    two("barrier", 1, 0, 1, True, ())
    two.fully("arrive", 1, 0)
    assert two("complete", 1, (), False) == []
    for checkpoint in (2, 3):
        assert two.fully("send", Message(0, 0, checkpoint)) == []
        two.fully("trigger", checkpoint)
        assert two.fully("cut", checkpoint, True) == [], "it waits for an event to the finished subtask"
        two.fully("abort", checkpoint, True)
    # A checkpoint that expires is aborted first, and then its trigger fails: that opens the gate for the savepoint.
    assert TicketEnded(Message(0, 0, 3), False) in two.fully("abort_triggering")


def test_an_event_to_a_finished_subtask_fails_the_checkpoint_that_is_cut_next(one):
    one("finish", 0, 0)
    one.fully("trigger", 1)
    one("send", Message(0, 0, 0))
    one("cut", 1, True)
    assert one.turns() == [TicketEnded(Message(0, 0, 0), False), CoordinatorCheckpointed(1, False)]


def test_an_acknowledgement_that_no_gate_expects_fails_the_job(one):
    assert one.fully("acknowledge_again", 0, 0, 1) == [GlobalFailoverTriggered()]


def test_a_new_gate_accepts_an_old_id(one):
    one.hold(5)
    one.fully("fail_attempt", 0, 0, (5,))
    one.fully("restart", (0,), BEGINNING, ())
    assert one.fully("trigger", 5) == [CheckpointRequested(5)]


def test_every_known_failure_still_fails(flink_coordinator):
    name = f"flink-coordinator@{flink_coordinator.release}"
    path = Path(releases.__file__).parent / "known_failures" / f"{flink_coordinator.release}.toml"
    found = standing(load_known_failures(path), name, flink_coordinator, ["coordinator"])
    assert found.failing
    assert found.fixed == ()
