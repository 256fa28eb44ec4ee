"""How the properties of checkpoints in a local channel are decided: what starts, what fails, what is written."""

from __future__ import annotations

from conformance.ports import CheckpointReason, ErrorKind
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.local_channel.checks import got
from conformance.properties.local_channel.ledger import LocalChannelLedger
from conformance.properties.local_channel.written import State

Ledger = LocalChannelLedger


# ---- what starts and what fails --------------------------------------------------------------------------------------
def marks_in_recovery_only(ledger: Ledger, seen: Seen) -> Judgement:
    owed = ledger.in_recovery()
    if seen.value is owed:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"the channel is {'' if owed else 'not '}in recovery: a recovery barrier is {'' if owed else 'not '}inserted",
        f"inserted: {seen.value}",
    )


def newer_barrier_subsumes(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if not ledger.subsumed(checkpoint):
        return False
    reason = _reason(seen)
    if reason is CheckpointReason.SUBSUMED:
        return True
    if reason is CheckpointReason.DECLINED and _mark_is_missing(ledger, checkpoint):
        return False  # it fails for two reasons
    return Broken(
        FailureClass.PROTOCOL,
        f"barrier {ledger.written.last} came before checkpoint {checkpoint} started, which is subsumed",
        got(seen),
    )


def missing_mark_declines(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if not _mark_is_missing(ledger, checkpoint) or ledger.subsumed(checkpoint):
        return False
    if _reason(seen) is CheckpointReason.DECLINED:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"nothing says where checkpoint {checkpoint} starts in the recovered data: this checkpoint is declined, and "
        "nothing else fails",
        got(seen),
    )


def starts(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if ledger.subsumed(checkpoint) or _mark_is_missing(ledger, checkpoint):
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, f"nothing keeps checkpoint {checkpoint} from starting", got(seen))


def _mark_is_missing(ledger: Ledger, checkpoint: int) -> bool:
    return ledger.in_recovery() and ledger.mark_of(checkpoint) is None


def _reason(seen: Seen) -> CheckpointReason | None:
    error = seen.error
    return error.checkpoint_reason if error is not None and error.kind is ErrorKind.CHECKPOINT else None


# ---- what is written -------------------------------------------------------------------------------------------------
def failed_writes_nothing(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if ledger.busy or checkpoint not in ledger.written.failed:
        return False
    if not seen.value:
        return True
    return Broken(
        FailureClass.LEAKED, f"checkpoint {checkpoint} was refused: nothing is written for it", _written(seen)
    )


def recovered_is_written_once(ledger: Ledger, seen: Seen) -> Judgement:
    state = _state(ledger, seen)
    if state is None:
        return False
    recovered = tuple(record for record in seen.value if record in ledger.pushed_at)
    if recovered[: len(state.least)] == state.least and state.most[: len(recovered)] == recovered:
        return True
    kind = compare_ids(state.least, recovered, min(ledger.pushed_at, default=0))
    owed = f"as checkpoint {seen.operands[0]} started, recovered records {state.least} waited, and are its state"
    if state.most != state.least:
        owed += f", those up to {state.most[-1]} perhaps"
    return Broken(kind, owed, f"of recovered data, written were {recovered}")


def written_after_late_stop(ledger: Ledger, seen: Seen) -> Judgement:
    state = _state(ledger, seen)
    if state is None or state.since_late_stop is None:
        return False
    return _all_written(tuple(state.live[state.since_late_stop :]), seen, "an older checkpoint had been stopped late")


def written_after_old_barrier(ledger: Ledger, seen: Seen) -> Judgement:
    state = _state(ledger, seen)
    if state is None or state.since_old_barrier is None:
        return False
    return _all_written(tuple(state.live[state.since_old_barrier :]), seen, "an older barrier had come")


def _all_written(owed: tuple[int, ...], seen: Seen, why: str) -> Judgement:
    missing = tuple(record for record in owed if record not in seen.value)
    if not missing:
        return bool(owed)
    return Broken(
        FailureClass.LOST,
        f"records {owed} were taken after {why}, and before barrier {seen.operands[0]}: they are still written",
        f"{missing} are missing",
    )


def nothing_behind_is_written(ledger: Ledger, seen: Seen) -> Judgement:
    state = _state(ledger, seen)
    if state is None:
        return False
    behind = tuple(record for record in seen.value if record not in ledger.pushed_at and record not in state.live)
    if not behind:
        return True
    return Broken(
        FailureClass.CORRUPTED,
        f"only what is taken before barrier {seen.operands[0]}, and since its checkpoint started, is written for it",
        f"written were also {behind}",
    )


def live_is_written_once(ledger: Ledger, seen: Seen) -> Judgement:
    state = _state(ledger, seen)
    if state is None:
        return False
    owed = tuple(state.live)
    live = tuple(record for record in seen.value if record not in ledger.pushed_at)
    if live == owed and seen.value[len(seen.value) - len(owed) :] == owed:
        return bool(owed)
    kind = FailureClass.REORDERED if live == owed else compare_ids(owed, live, owed[0] if owed else 0)
    return Broken(
        kind,
        f"records {owed} were taken before barrier {seen.operands[0]}, and are written behind recovered ones",
        _written(seen),
    )


def _state(ledger: Ledger, seen: Seen) -> State | None:
    """What must be written, unless the task is in the middle of something that changes it."""
    return None if ledger.busy else ledger.written.states.get(seen.operands[0])


def _written(seen: Seen) -> str:
    return f"written were {tuple(seen.value)}"
