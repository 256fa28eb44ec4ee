"""The rules of the drainer. Specification: drainer.md."""

from __future__ import annotations

from typing import Any

from conformance.components.drainer import steps
from conformance.components.drainer.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, Unsure, answers_property, thread_properties
from conformance.models import faults, lifetime, recovered_state
from conformance.models.designs import FAULTS, RESOURCES
from conformance.models.records import in_words
from conformance.models.words import are, got, many, must_be, name, refusal
from conformance.ports import (
    BUFFER_POOL,
    CheckpointReason,
    Drained,
    DrainerPort,
    ErrorKind,
    FaultKind,
    FaultStruck,
    Piece,
    RecoveryTrigger,
    Resources,
)

RULES = Rules[Ledger]("drainer", answers_property("drainer"), *thread_properties("drainer"))
rule, adopt = RULES.rule, RULES.adopt
_ORDER = list(RecoveryTrigger)


# ---- what is pushed and taken ----------------------------------------------------------------------------------------
@rule(steps.drain, invariant="I-70", tickets=("FLINK-38544",))
def fetched_records_are_pushed_once_in_their_order(ledger: Ledger, seen: Seen[Piece | None]) -> Judgement:
    """The drainer pushes every record that was fetched, once, in the order of fetching, into its channel. It says that
    it has handed on everything when that is so."""
    owed = ledger.fetched.pieces[ledger.fetched.committed] if ledger.fetched.left() else None
    if seen.value == owed:
        return True
    if owed is None:
        return Broken(FailureClass.DUPLICATED, "everything was pushed", f"{_of(seen.value)} was pushed")
    kind = FailureClass.LOST if seen.value is None else FailureClass.REORDERED
    return Broken(kind, f"{_of(owed)} must be pushed next", f"{_of(seen.value)} was pushed")


def _of(piece: Piece | None) -> str:
    if piece is None:
        return "nothing"
    return f"{in_words(piece.records)} of channel {piece.channel} of gate {piece.gate}"


@rule(steps.take, invariant="I-09", tickets=("FLINK-39018", "FLINK-38544"))
def recovered_records_are_taken_before_live_ones(ledger: Ledger, seen: Seen[Drained | None, int]) -> Judgement:
    """From each channel the task takes the recovered records and then the live ones, each once and in order."""
    if seen.value is None:
        return False
    owed = ledger.recovered.owed(ledger.recovered.number(seen.value.gate, seen.value.channel))
    if owed is None:
        channel = f"channel {seen.value.channel} of gate {seen.value.gate}"
        return Broken(
            FailureClass.DUPLICATED, f"nothing is left in {channel}", f"the task got {name(seen.value.element)}"
        )
    return must_be(owed, seen.value.element)


def _nothing_is_left(ledger: Ledger, of_fetched: bool) -> Judgement:
    """Judges, once everything was handed on and the task found nothing, the channels for which something was fetched,
    or those for which nothing was."""
    recovered = ledger.recovered
    if len(ledger.nothing_found()) < len(recovered.gates) or ledger.is_broken():
        return False
    for channel in recovered.not_empty():
        if bool(recovered.state[channel]) is of_fetched:
            gate, number = recovered.channels[channel]
            owed = f"something is left in channel {number} of gate {gate}, so the task must get it"
            return Broken(FailureClass.STUCK, owed, "the task found nothing")
    return any(bool(ids) is of_fetched for ids in recovered.state)


@rule(steps.take, steps.drain, invariant="I-98", tickets=("FLINK-39523",), after_learning=True)
def what_is_fetched_can_be_taken(ledger: Ledger, seen: Seen[Any, *tuple[int, ...]]) -> Judgement:
    """When the drainer has handed on everything and the task finds nothing in its gates, it has taken, of channels for
    which state was fetched, all records that were recovered and all that have arrived."""
    return _nothing_is_left(ledger, True)


@rule(steps.take, steps.drain, invariant="I-86", tickets=("FLINK-39523",), after_learning=True)
def a_channel_without_state_hides_nothing(ledger: Ledger, seen: Seen[Any, *tuple[int, ...]]) -> Judgement:
    """When the drainer has handed on everything and the task finds nothing in its gates, it has taken, of channels for
    which nothing was fetched, all records that have arrived, also if nothing was fetched at all."""
    return _nothing_is_left(ledger, False)


@rule(steps.take, steps.drain, invariant="I-97", tickets=("FLINK-39018",), after_learning=True)
def a_gate_does_not_wait_for_another(ledger: Ledger, seen: Seen[Any, *tuple[int, ...]]) -> Judgement:
    """When the drainer has handed on everything and the task finds nothing in a gate, it has taken all records that
    were recovered in this gate and all that have arrived there, however much is left in others."""
    gates = ledger.nothing_found()
    if not gates or not ledger.recovered.left() or ledger.is_broken():
        return False
    for channel in ledger.recovered.not_empty():
        gate, number = ledger.recovered.channels[channel]
        if gate in gates:
            owed = f"the task must find what is left in channel {number} of gate {gate}, whatever other gates hold"
            return Broken(FailureClass.STUCK, owed, "the task found nothing in this gate")
    return True


@rule(steps.drain, invariant="I-92", tickets=("FLINK-38544",))
def recovered_data_fits_into_its_buffers(ledger: Ledger, seen: Seen[Piece | None]) -> Judgement:
    """No more recovered records wait in the channels than there are buffers for recovered data."""
    if seen.value is None or not ledger.alone or ledger.fetched.committed <= ledger.recovered.buffers:
        return False
    if ledger.in_use() <= ledger.recovered.buffers:
        return True
    owed = f"recovered data has {many(ledger.recovered.buffers, 'buffer')}, so the drainer must wait"
    return Broken(
        FailureClass.PROTOCOL, owed, f"it has pushed {many(ledger.in_use(), 'record')} that the task has not taken"
    )


# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(
    recovered_state.a_checkpoint_that_comes_too_early_is_declined, steps.checkpoint, of=Ledger.must_start,
    slug="a-checkpoint-before-the-drainer-is-declined",
)  # fmt: skip
adopt(
    recovered_state.a_checkpoint_does_not_wait_for_recovered_data, steps.checkpoint, of=Ledger.must_start,
    slug="a-checkpoint-starts-while-state-is-pushed",
)  # fmt: skip


@rule(steps.stored, invariant="I-40", tickets=("FLINK-38544", "FLINK-39523", "FLINK-39524", "FLINK-40016"))
def a_checkpoint_holds_what_was_not_taken(
    ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...] | None, int]
) -> Judgement:
    """The input state of a checkpoint is, in each channel, the recovered data that the task had not taken when it
    started, whether it was pushed or not, each record once and in the order of fetching."""
    (checkpoint,) = seen.operands
    if seen.value is None:
        return False
    if checkpoint not in ledger.recovered.started:
        return Broken(
            FailureClass.PROTOCOL,
            f"checkpoint {checkpoint} was declined, so it must hold nothing",
            "its input state is stored",
        )
    return ledger.recovered.must_hold(checkpoint, seen.value)


@rule(steps.stored, invariant="I-54", tickets=("FLINK-38544",))
def a_checkpoint_is_written_without_the_drainer(
    ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...] | None, int]
) -> Judgement:
    """When the writer has nothing to do, the input state of every checkpoint that started and was not aborted is
    complete, however far the drainer is. A write that fails takes one checkpoint with it, and no other."""
    (checkpoint,) = seen.operands
    if (
        checkpoint not in ledger.written.pending()
        or not ledger.lookers.found_nothing("writer")
        or ledger.flying
        or ledger.is_broken()
    ):
        return False
    if seen.value is not None:
        return True
    if ledger.written.is_unsure(checkpoint):
        return Unsure("a write failed, and took one of several checkpoints with it")
    owed = f"nothing more is to be written, so the input state of checkpoint {checkpoint} must be complete"
    return Broken(FailureClass.LOST, owed, "it is not complete")


@rule(steps.stored, invariant="I-03", tickets=("FLINK-39977",))
def a_complete_checkpoint_needs_no_spill_files(
    ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...] | None, int]
) -> Judgement:
    """Once the input state of a checkpoint is complete, it stays so, also when nobody reads the spill files any more,
    and when they were deleted because the task was cancelled."""
    (checkpoint,) = seen.operands
    if not ledger.written.is_kept(checkpoint):
        return False
    if seen.value is None:
        owed = f"checkpoint {checkpoint} was complete, so its input state must stay complete"
        return Broken(FailureClass.LOST, owed, "it is not complete")
    return ledger.cancelled or (ledger.drained and ledger.lookers.found_nothing("writer"))


@rule(steps.trigger, invariant="I-89", tickets=("FLINK-38544",))
def the_trigger_ends_when_all_recovered_data_was_taken(ledger: Ledger, seen: Seen[RecoveryTrigger]) -> Judgement:
    """The trigger is not ready, then draining, then no-op, and never goes back. It is draining once the drainer was
    installed, and no-op only when the task has taken all recovered data."""
    if ledger.flying:
        return False
    if _ORDER.index(seen.value) < _ORDER.index(ledger.trigger):
        owed = f"the trigger was {ledger.trigger}, and must not go back"
        return Broken(FailureClass.PROTOCOL, owed, f"it is {seen.value}")
    if (ledger.phase == "fetched") is not (seen.value is RecoveryTrigger.NOT_READY):
        installed = "not " if ledger.phase == "fetched" else ""
        return Broken(FailureClass.PROTOCOL, f"the drainer was {installed}installed", f"the trigger is {seen.value}")
    if seen.value is RecoveryTrigger.NO_OP and ledger.recovered.left():
        return Broken(
            FailureClass.LOST, "recovered data was not taken yet, so the trigger must not be no-op", "it is no-op"
        )
    return True


# ---- files -----------------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-68", tickets=("FLINK-40520",), needs=RESOURCES)
def files_live_as_long_as_somebody_reads_them(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """There are grants for the drainer until everything was pushed, and for each checkpoint until the writer has
    written it, or given it up. When there is none left, there is no file."""
    if ledger.released or ledger.flying or ledger.phase not in ("fetched", "installed"):
        return False
    grants, files = seen.value.grants, seen.value.files
    if grants is None:
        return bool(ledger.fetched.pieces)
    most = int(bool(ledger.fetched.pieces) and not ledger.drained)
    if not ledger.lookers.found_nothing("writer"):
        most += len([one for one in ledger.recovered.started if one not in ledger.written.complete])
    if (granted := recovered_state.must_be_granted(grants, int(ledger.fetched.left() > 0), most)) is not True:
        return granted
    if files and not grants:
        owed = "nobody reads the files any more, so they must be deleted"
        return Broken(FailureClass.LEAKED, owed, f"{are(files, 'file')} left")
    return bool(ledger.fetched.pieces)


adopt(
    lifetime.a_cancellation_deletes_the_files, steps.resources, needs=RESOURCES,
    of=lambda ledger: ledger.cancelled and not (ledger.released or ledger.flying),
)  # fmt: skip


@rule(steps.drain, invariant="I-92", open_ended=True)
def a_drainer_ends_with_its_task(ledger: Ledger, seen: Seen[Piece | None]) -> Judgement:
    """A drainer that is at work when the task is cancelled ends with its record, or with nothing to do, which is no
    error."""
    if FaultStruck in map(type, seen.signals):
        return False
    if seen.error is not None:
        owed = "the task was cancelled, so the drainer has nothing to do, which is no error"
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    return True if seen.value is None else fetched_records_are_pushed_once_in_their_order(ledger, seen)


@rule(steps.checkpoint, invariant="I-92", open_ended=True)
def a_checkpoint_ends_with_its_task(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A checkpoint that is starting when the task is cancelled starts, or is declined because the task is not ready, or
    fails with an error of kind released."""
    if seen.error is None or seen.error.kind is ErrorKind.RELEASED:
        return True
    if FaultStruck in map(type, seen.signals) or refusal(seen.error) is CheckpointReason.DECLINED_TASK_NOT_READY:
        return False
    owed = "the task was cancelled, so a checkpoint that does not start must fail with an error of kind released"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


# ---- what fails ------------------------------------------------------------------------------------------------------
adopt(faults.an_operation_fails_with_what_it_calls, steps.drain, steps.write, needs=FAULTS)
_FILES = {place: kinds for place, kinds in DrainerPort.can_fail.items() if place != BUFFER_POOL}
faults.see_strikes(RULES, {BUFFER_POOL: (FaultKind.ENDS,)}, steps.drain)
faults.see_strikes(RULES, _FILES, steps.drain, steps.write)
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
