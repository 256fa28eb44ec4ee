"""When a checkpoint may start in a channel, and for which reasons it must be refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.parts.words import got, must_succeed, refusal
from conformance.ports import CheckpointReason, Error


class Refusal(NamedTuple):
    """What speaks against a checkpoint: nothing, if there are no reasons."""

    reasons: Sequence[CheckpointReason]
    where: str = ""
    """Which channel refuses it, in words, where there are several."""


UNOPPOSED = Refusal(())
SUBSUMED = Refusal((CheckpointReason.SUBSUMED,))
DECLINED = Refusal((CheckpointReason.DECLINED,))
SUBSUMED_OR_DECLINED = Refusal((CheckpointReason.SUBSUMED, CheckpointReason.DECLINED))


class Starting(Protocol):
    """A ledger that knows what speaks against a checkpoint."""

    def refuses(self, checkpoint: int) -> Refusal | None:
        """What speaks against starting it now; None: a race decides."""


def judge_refusal(ledger: Starting, checkpoint: int, error: Error | None, reason: CheckpointReason) -> Judgement:
    """A checkpoint that must be refused for this reason is. Where there are two reasons, either will do."""
    against = ledger.refuses(checkpoint)
    if against is None or reason not in against.reasons:
        return False
    if refusal(error) in against.reasons:
        return True
    why = " or ".join(against.reasons)
    return Broken(FailureClass.PROTOCOL, f"checkpoint {checkpoint} is refused{against.where}: {why}", got(error))


def judge_start(ledger: Starting, checkpoint: int, error: Error | None) -> Judgement:
    """A checkpoint that nothing speaks against starts."""
    against = ledger.refuses(checkpoint)
    if against is None or against.reasons:
        return False
    return must_succeed(error, f"nothing speaks against checkpoint {checkpoint}")


@shared("I-37", ("FLINK-21104", "FLINK-20097"))
def a_newer_barrier_subsumes_an_older_checkpoint(ledger: Starting, seen: Seen[None, int]) -> Judgement:
    """A checkpoint that starts after a newer barrier was received is refused as subsumed."""
    return judge_refusal(ledger, seen.operands[0], seen.error, CheckpointReason.SUBSUMED)


@shared("I-42", ("FLINK-38544",))
def a_missing_recovery_barrier_declines_the_checkpoint(ledger: Starting, seen: Seen[None, int]) -> Judgement:
    """A checkpoint whose start is not marked in the data of a channel in recovery is declined, and nothing else."""
    return judge_refusal(ledger, seen.operands[0], seen.error, CheckpointReason.DECLINED)


@shared("I-53", ("FLINK-20654",))
def checkpoints_are_declined_until_channels_are_physical(ledger: Starting, seen: Seen[None, int]) -> Judgement:
    """A checkpoint that starts before conversion is declined because the task is not ready."""
    return judge_refusal(ledger, seen.operands[0], seen.error, CheckpointReason.DECLINED_TASK_NOT_READY)


@shared("I-54")
def a_checkpoint_starts_if_nothing_speaks_against_it(ledger: Starting, seen: Seen[None, int]) -> Judgement:
    """A checkpoint starts unless a newer barrier is known, its recovery barrier is missing, or the channel is not
    physical."""
    return judge_start(ledger, seen.operands[0], seen.error)


# ---- what a campaign must have seen ----------------------------------------------------------------------------------
def a_recovery_barrier_was_missing(ledger: object, seen: Seen[None, int]) -> bool:
    """A checkpoint was declined for want of a recovery barrier."""
    return refusal(seen.error) is CheckpointReason.DECLINED


def a_checkpoint_was_subsumed(ledger: object, seen: Seen[None, int]) -> bool:
    """A newer barrier was there when a checkpoint started."""
    return refusal(seen.error) is CheckpointReason.SUBSUMED
