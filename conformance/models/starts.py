"""Rules for the start of a checkpoint: when it must succeed, and for which reasons it must be refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

from conformance.driver import AnyStep, Broken, FailureClass, Judgement, PortLedger, Rules, Seen, Unsure, shared
from conformance.models.designs import PUSHED
from conformance.models.words import got, must_succeed, refusal
from conformance.ports import Capability, CheckpointReason, Error

L = TypeVar("L", bound=PortLedger)


class Refusal(NamedTuple):
    """The reasons for which the start of a checkpoint must be refused. Without a reason it must succeed."""

    reasons: Sequence[CheckpointReason]
    where: str = ""
    """Which channel of a gate refuses the checkpoint, as a part of a message; empty for a single channel."""


UNOPPOSED = Refusal(())
SUBSUMED = Refusal((CheckpointReason.SUBSUMED,))
DECLINED = Refusal((CheckpointReason.DECLINED,))
SUBSUMED_OR_DECLINED = Refusal((CheckpointReason.SUBSUMED, CheckpointReason.DECLINED))


BARRIER_MEANWHILE = Unsure("a barrier arrived while the checkpoint started")


def reason_without_barrier(capabilities: Collection[Capability]) -> CheckpointReason:
    """Returns the reason for which an engine with these capabilities declines a checkpoint whose recovery barrier is
    missing."""
    first_design = Capability.NOT_READY_WITHOUT_BARRIER in capabilities
    return CheckpointReason.DECLINED_TASK_NOT_READY if first_design else CheckpointReason.DECLINED


Refuses = Callable[[int], Refusal | Unsure]
"""Returns the reasons to refuse the start of a checkpoint now."""
Marked = tuple[Refuses, CheckpointReason]
"""Of something with recovery barriers: the reasons to refuse the start; the reason for which a checkpoint is declined
whose recovery barrier is missing, where the reasons say *declined*."""


def judge_refusal(
    refuses: Refuses, checkpoint: int, error: Error | None, reason: CheckpointReason,
    without_barrier: CheckpointReason = CheckpointReason.DECLINED,
) -> Judgement:  # fmt: skip
    """Judges a start that must be refused for this reason. If there are two reasons, either of them may be given.
    `without_barrier`: what the engine says in place of *declined*."""
    against = refuses(checkpoint)
    if isinstance(against, Unsure):
        return against
    if reason not in against.reasons:
        return False
    due = [without_barrier if one is CheckpointReason.DECLINED else one for one in against.reasons]
    if refusal(error) in due:
        return True
    owed = f"checkpoint {checkpoint} must be refused{against.where} with the reason {' or '.join(due)}"
    return Broken(FailureClass.PROTOCOL, owed, got(error))


def judge_start(refuses: Refuses, checkpoint: int, error: Error | None, recovers: bool = True) -> Judgement:
    """Judges a start that must succeed, because there is no reason to refuse it. `recovers`: whether the component has
    recovery barriers, so that the message speaks of them."""
    against = refuses(checkpoint)
    if isinstance(against, Unsure):
        return against
    if against.reasons:
        return False
    if error is None:
        return True
    owed = f"checkpoint {checkpoint} must start: no barrier of a newer checkpoint was received"
    if recovers:
        owed += f", and each channel that is in recovery has a recovery barrier for checkpoint {checkpoint}"
    return must_succeed(error, owed)


@shared("I-37", ("FLINK-21104", "FLINK-20097"))
def a_newer_barrier_subsumes_an_older_checkpoint(marked: Marked, seen: Seen[None, int]) -> Judgement:
    """If a checkpoint starts after the barrier of a newer checkpoint was received, the start is refused with an error
    of kind checkpoint and the reason subsumed."""
    refuses, without_barrier = marked
    return judge_refusal(refuses, seen.operands[0], seen.error, CheckpointReason.SUBSUMED, without_barrier)


@shared("I-42", ("FLINK-38544",))
def a_missing_recovery_barrier_declines_the_checkpoint(marked: Marked, seen: Seen[None, int]) -> Judgement:
    """If a checkpoint starts in a channel in recovery that has no recovery barrier for it, the start is refused with an
    error of kind checkpoint and the reason declined, so that only this checkpoint fails; with the capability
    not-ready-without-barrier, the reason is declined-task-not-ready."""
    refuses, without_barrier = marked
    return judge_refusal(refuses, seen.operands[0], seen.error, CheckpointReason.DECLINED, without_barrier)


@shared("I-53", ("FLINK-20654",))
def checkpoints_are_declined_until_channels_are_physical(refuses: Refuses, seen: Seen[None, int]) -> Judgement:
    """If a checkpoint starts before the recovered channels are converted, the start is refused with an error of kind
    checkpoint and the reason declined-task-not-ready."""
    return judge_refusal(refuses, seen.operands[0], seen.error, CheckpointReason.DECLINED_TASK_NOT_READY)


@shared("I-54", formerly=("a-checkpoint-starts-if-nothing-speaks-against-it",))
def a_checkpoint_starts_unless_it_must_be_declined(refuses: Refuses, seen: Seen[None, int]) -> Judgement:
    """The start of a checkpoint succeeds unless a newer barrier was received, the recovery barrier is missing in a
    channel in recovery, or a channel is not physical."""
    return judge_start(refuses, seen.operands[0], seen.error)


# ---- goals -----------------------------------------------------------------------------------------------------------
def see_missing_barriers(rules: Rules[L], on: AnyStep, without_barrier: Callable[[L], CheckpointReason]) -> None:
    """Declares the goal that the start of a checkpoint is declined with this reason."""
    rules.sight(
        "a-recovery-barrier-was-missing", "A checkpoint was declined because its recovery barrier was missing.", on,
        lambda ledger, seen: refusal(seen.error) is without_barrier(ledger), needs=PUSHED,
    )  # fmt: skip


def a_checkpoint_was_subsumed(ledger: object, seen: Seen[None, int]) -> bool:
    """The barrier of a newer checkpoint had been received when a checkpoint started."""
    return refusal(seen.error) is CheckpointReason.SUBSUMED
