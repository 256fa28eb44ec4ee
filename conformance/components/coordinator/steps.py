"""The steps of a coordinator: the user's code on both sides, the checkpoint coordinator, the network, the attempts."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.coordinator.ledger import MOST_SUBTASKS, Ledger
from conformance.components.coordinator.sides import ANSWERED, INJECTED, Attempt, Checkpoint
from conformance.components.coordinator.turns import ABORTING
from conformance.components.coordinator.words import event, stored_reports
from conformance.driver import DISABLED, NO_OPERANDS, Steps, always
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step
from conformance.ports import NO_CHECKPOINT, Answer, CoordinatorPort, Message, Resources

LIVE = ("live",)
ALWAYS = ("live", "failed")
UNKNOWN = 1_000
"""Added to the id of a checkpoint: the id of one that nobody knows."""

STEPS = Steps[CoordinatorPort, Ledger]()
step = STEPS.step


# ---- the user's code on both sides -----------------------------------------------------------------------------------
def sendable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts that the coordinator knows to be ready."""
    if not ledger.has_room():
        return DISABLED
    return [(one.subtask, one.number) for line in ledger.lines for one in line.attempts if one.ready]


@step("user", LIVE, when=sendable, begin=Ledger.send, weight=12)
def send(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.send(ledger.next_event(subtask, attempt))


def requested(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoints that the coordinator was asked for and has not cut, aborted ones too."""
    return [
        (one.number,) for one in ledger.checkpoints.values() if one.requested and not one.done and ledger.has_room()
    ]


@step("user", LIVE, when=requested, begin=Ledger.cut, weight=40)
def cut(port: CoordinatorPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.cut(checkpoint, True)


@step("user", LIVE, when=requested, begin=Ledger.fail_cut, weight=2)
def fail_cut(port: CoordinatorPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.cut(checkpoint, False)


@step("user", LIVE, when=always, begin=Ledger.begin_fail_job, weight=1)
def fail_job(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    return port.fail_job()


def reporting(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts whose operators can send a report, which they may do before they run."""
    return [(one.subtask, one.number) for one in ledger.alive]


@step("task", LIVE, when=reporting, begin=Ledger.report, weight=10)
def report(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.report(ledger.next_report(subtask, attempt))


# ---- the checkpoint coordinator --------------------------------------------------------------------------------------
def can_trigger(ledger: Ledger) -> bool:
    """Whether no other checkpoint is being triggered, and all subtasks run."""
    return ledger.has_room() and ledger.is_whole() and all(one.state == INJECTED for one in ledger.pending())


def triggerable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """The next checkpoint or savepoint."""
    if not can_trigger(ledger):
        return DISABLED
    savepoints = [one.is_savepoint for one in ledger.pending()]
    next_one, count = ledger.newest + 1, len(savepoints) - sum(savepoints)
    kinds = ["checkpoint"] if count < ledger.concurrent else []
    return [(next_one, kind) for kind in (*kinds, *(["savepoint"] if True not in savepoints else []))]


@step("checkpoint-coordinator", LIVE, when=triggerable, begin=Ledger.trigger, weight=60)
def trigger(port: CoordinatorPort, ledger: Ledger, checkpoint: int, kind: str) -> Answer[None]:
    return port.trigger(checkpoint)


def old_ids(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """The newest id, again."""
    return (
        [(ledger.newest, "checkpoint")]
        if ledger.newest in ledger.checkpoints
        and ledger.checkpoints[ledger.newest].was_triggered
        and can_trigger(ledger)
        and not ledger.calls.with_old_id
        else DISABLED
    )


trigger_again = trigger.also("an old id", LIVE, when=old_ids, begin=Ledger.trigger_again, weight=1)


def batch(ledger: Ledger) -> Sequence[tuple[()]]:
    """A batch job lets the coordinator save its state again and again, under one id."""
    last = ledger.checkpoints.get(NO_CHECKPOINT)
    possible = not ledger.config.checkpointing and not ledger.failures.failover and (last is None or last.is_over())
    return NO_OPERANDS if possible else DISABLED


@step("job-master", LIVE, when=batch, begin=lambda ledger: ledger.trigger(NO_CHECKPOINT, "checkpoint"), weight=4)
def save_batch_state(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    return port.trigger(NO_CHECKPOINT)


def injectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoint whose result is a success."""
    return [(one.number,) for one in ledger.pending() if one.state == ANSWERED and one.result and ledger.has_room()]


@step("checkpoint-coordinator", LIVE, when=injectable, begin=Ledger.inject, weight=60)
def inject(port: CoordinatorPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.inject(checkpoint)


def abortable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoints in progress."""
    return [(one.number,) for one in ledger.pending() if ledger.has_room()]


@step("checkpoint-coordinator", LIVE, when=abortable, begin=Ledger.abort, weight=4)
def abort(port: CoordinatorPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.abort(checkpoint, not ledger.checkpoints[checkpoint].has_left)


def untriggered(ledger: Ledger) -> Sequence[tuple[int]]:
    """The id of a checkpoint that could be triggered, and is not."""
    return [(ledger.newest + 1,)] if can_trigger(ledger) else DISABLED


abort_untriggered = abort.also("before its trigger", LIVE, when=untriggered, begin=Ledger.abort_untriggered, weight=2)


def precheckable(ledger: Ledger) -> Sequence[tuple[()]]:
    """A checkpoint could be triggered, and fails before it has an id."""
    return NO_OPERANDS if can_trigger(ledger) else DISABLED


@step("checkpoint-coordinator", LIVE, when=precheckable, begin=Ledger.fail_trigger, weight=4)
def fail_trigger(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    return port.abort_triggering()


def is_complete(one: Checkpoint) -> bool:
    """Whether all subtasks that take part have taken their snapshots."""
    return one.state == INJECTED and None not in one.parts.values()


def completable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoints that all subtasks have acknowledged."""
    return [(one.number,) for one in ledger.pending() if is_complete(one) and ledger.has_room()]


@step("checkpoint-coordinator", LIVE, when=completable, learn=Ledger.complete, weight=14, in_words=stored_reports)
def complete(port: CoordinatorPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[Message, ...], ...]]:
    return port.complete(checkpoint, ledger.subsumed(checkpoint), not ledger.checkpoints[checkpoint].is_savepoint)


# ---- the main thread of the job master, and what arrives there -------------------------------------------------------
def queued(ledger: Ledger) -> Sequence[tuple[()]]:
    """There is a turn."""
    return NO_OPERANDS if ledger.turns.queue else DISABLED


@step("job-master", LIVE, when=queued, begin=Ledger.begin_turn, learn=Ledger.end_turn, weight=120, fails=True)
def turn(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    return port.turn()


def answering(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts with a reply on its way."""
    return [(one.subtask, one.number) for one in ledger.alive if one.replies and ledger.has_room()]


@step("network", LIVE, when=answering, begin=Ledger.reply, weight=12)
def reply(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.reply(subtask, attempt)


@step("network", LIVE, when=answering, begin=Ledger.lose_reply, weight=1)
def lose_reply(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.lose_reply(subtask, attempt)


def _has_event(one: Attempt) -> bool:
    return bool(one.events) and type(one.events[0]) is not int and not one.must_fail


def deliverable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts with an event in front of all barriers on their way."""
    return [(one.subtask, one.number) for one in ledger.alive if _has_event(one)]


@step("network", LIVE, when=deliverable, learn=Ledger.deliver, weight=40, in_words=event)
def deliver(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[Message | None]:
    return port.deliver(subtask, attempt)


@step("network", LIVE, when=deliverable, begin=Ledger.lose_event, weight=1)
def lose_event(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.lose_event(subtask, attempt)


def arriving(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts with a report on its way."""
    if not ledger.has_room():
        return DISABLED
    return [(one.subtask, one.number) for one in ledger.alive if one.reports and not one.must_fail]


@step("network", LIVE, when=arriving, begin=Ledger.arrive, weight=40)
def arrive(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.arrive(subtask, attempt)


@step("network", LIVE, when=arriving, begin=Ledger.lose_report, weight=1)
def lose_report(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.lose_report(subtask, attempt)


def acknowledged(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """The last snapshots of the attempts, also of dead ones."""
    if not ledger.has_room():
        return DISABLED
    living = [(one.subtask, one.number, one.cut) for one in ledger.alive]
    dead = [(subtask, *line.dead) for subtask, line in enumerate(ledger.lines) if line.dead is not None]
    return [one for one in (*living, *dead) if one[2] and one[0] < ledger.config.parallelism]


@step("network", LIVE, when=acknowledged, begin=Ledger.repeat, weight=3)
def acknowledge_again(
    port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int
) -> Answer[None]:
    return port.acknowledge_again(subtask, attempt, checkpoint)


def unknown(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """A checkpoint that nobody knows."""
    if not ledger.has_room():
        return DISABLED
    return [(one.subtask, one.number, ledger.newest + UNKNOWN) for one in ledger.alive if one.ready]


acknowledge_unknown = acknowledge_again.also("unknown", LIVE, when=unknown, begin=Ledger.repeat, weight=1)


# ---- the subtasks ----------------------------------------------------------------------------------------------------
def barriers(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """The barriers that subtasks can receive."""
    return [
        (one.subtask, one.number, number)
        for one in ledger.alive
        if not one.must_fail
        for number in (one.events[:1] if ledger.config.sources else one.barriers)
        if type(number) is int
    ]


@step("task", LIVE, when=barriers, begin=Ledger.barrier, weight=16)
def barrier(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int) -> Answer[None]:
    return port.barrier(subtask, attempt, checkpoint, True, ())


@step("task", LIVE, when=barriers, begin=Ledger.barrier_with_report, weight=5)
def barrier_with_report(
    port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int
) -> Answer[None]:
    return port.barrier(subtask, attempt, checkpoint, True, (ledger.next_report(subtask, attempt),))


@step("task", LIVE, when=barriers, begin=Ledger.pass_barrier, weight=2)
def barrier_that_fails(
    port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int
) -> Answer[None]:
    return port.barrier(subtask, attempt, checkpoint, False, ())


@step("task", LIVE, when=barriers, begin=Ledger.barrier_that_fails_with_report, weight=1)
def barrier_that_fails_with_report(
    port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int
) -> Answer[None]:
    return port.barrier(subtask, attempt, checkpoint, False, (ledger.next_report(subtask, attempt),))


BARRIERS = (barrier, barrier_with_report, barrier_that_fails, barrier_that_fails_with_report)


def unnotified(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """The tasks that can be notified that a checkpoint was aborted."""
    return ledger.abort_notifications


@step("network", LIVE, when=unnotified, begin=Ledger.notify_aborted, weight=12)
def notify_aborted(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int, checkpoint: int) -> Answer[None]:
    return port.notify_aborted(subtask, attempt, checkpoint)


# ---- the attempts ----------------------------------------------------------------------------------------------------
def deployed(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts that do not run yet."""
    return [
        (one.subtask, one.number)
        for one in ledger.alive
        if one.state == "deployed" and not one.must_fail and ledger.has_room()
    ]


@step("job-master", LIVE, when=deployed, begin=Ledger.run, weight=80)
def run(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.run(subtask, attempt)


@step("job-master", LIVE, when=reporting, begin=Ledger.begin_failure, end=Ledger.end_failure, weight=2)
def fail_attempt(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.fail_attempt(subtask, attempt, ledger.failures.restarting[1])


@step("job-master", LIVE, when=reporting, begin=Ledger.fail_attempt, weight=1)
def fail_attempt_only(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.fail_attempt(subtask, attempt, ())


FAILURES = (fail_attempt, fail_attempt_only)
"""The checkpoints in progress are aborted with the failure, or only when the subtask is restarted."""


def finishing(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The attempts that run and whose reports have all been received, if nothing waits for the main thread."""
    if ledger.turns.queue:
        return DISABLED
    return [
        (one.subtask, one.number)
        for one in ledger.alive
        if one.ready and not (one.must_fail or one.unreported or one.reports or one.arrived or one.replay)
    ]


@step("job-master", LIVE, when=finishing, begin=Ledger.finish, weight=1)
def finish(port: CoordinatorPort, ledger: Ledger, subtask: int, attempt: int) -> Answer[None]:
    return port.finish(subtask, attempt)


def restartable(ledger: Ledger) -> Sequence[tuple[()]]:
    """Some subtasks have failed, the main thread knows what that ends, and the job as a whole has not failed."""
    return (
        NO_OPERANDS
        if not ledger.failures.failover and ABORTING not in ledger.turns.queue and ledger.dead_lines()
        else DISABLED
    )


@step("job-master", LIVE, when=restartable, begin=Ledger.begin_restart, end=Ledger.restart, weight=20)
def restart(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    subtasks, aborted = ledger.failures.restarting
    return port.restart(subtasks, ledger.restored(), aborted)


def all_restartable(ledger: Ledger) -> Sequence[tuple[()]]:
    """The job as a whole has failed, or some subtasks have."""
    return (
        NO_OPERANDS
        if ABORTING not in ledger.turns.queue and (ledger.failures.failover or ledger.dead_lines())
        else DISABLED
    )


@step("job-master", LIVE, when=all_restartable, begin=Ledger.begin_restart_all, end=Ledger.restart, weight=8)
def restart_all(port: CoordinatorPort, ledger: Ledger) -> Answer[None]:
    return port.restart_all(ledger.restored(), ledger.failures.restarting[1])


def speculable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The subtasks with one attempt that runs, in a job without checkpoints."""
    if ledger.config.checkpointing:
        return DISABLED
    running = [one.subtask for one in ledger.alive if one.state == "running"]
    return [(subtask,) for subtask in range(ledger.config.parallelism) if running.count(subtask) == 1]


@step("job-master", LIVE, when=speculable, end=Ledger.speculate, weight=8)
def speculate(port: CoordinatorPort, ledger: Ledger, subtask: int) -> Answer[None]:
    return port.speculate(subtask)


# ---- the job master --------------------------------------------------------------------------------------------------
fault = fault_step(STEPS, LIVE, weight=2)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)


def restorable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The newest checkpoint or the newest savepoint, with any parallelism."""
    return [(one.number, parallelism) for one in ledger.points for parallelism in range(1, MOST_SUBTASKS + 1)]


@step("driver", ("failed",), when=restorable, end=Ledger.restore, weight=16, fresh_port=True)
def restore(port: CoordinatorPort, ledger: Ledger, checkpoint: int, parallelism: int) -> Answer[Resources]:
    return port.resources()
