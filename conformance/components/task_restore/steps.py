"""The steps of the restore of a task: its threads act, producers send, the task is cancelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.components.task_restore.ledger import Ledger
from conformance.driver import DISABLED, NO_OPERANDS, Drain, Each, Once, Steps, While, always
from conformance.models.answers import records_by_channel, whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import alive, fail_step, resources_step, restart_step
from conformance.ports import ALL_GATES, OPERATORS_OPEN, Answer, Buffer, EndOfPartition, TaskRestorePort, Turn

DEPLOYED, LIVE, RESTORED = ("deployed",), ("live",), ("live", "over")
ALWAYS = ("deployed", "live", "over", "failed")
MOST_CHECKPOINTS = 6
"""How many checkpoints a scenario tries."""
MOST_RECORDS = 6
"""How many records of a channel a scenario has."""

STEPS = Steps[TaskRestorePort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def sends(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose producer may send a record."""
    return [(channel,) for channel in ledger.recovered.open_channels(MOST_RECORDS)]


def ends(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose producer may end."""
    return [(channel,) for channel in ledger.recovered.open_channels(MOST_RECORDS + 1)]


def selectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """What the operators may read from now on: another gate, or all."""
    if len(ledger.recovered.gates) < 2:
        return DISABLED
    return [(gate,) for gate in (ALL_GATES, *range(len(ledger.recovered.gates))) if gate != ledger.selected]


def tried(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint."""
    if not ledger.config.unaligned:
        return DISABLED
    newest = ledger.recovered.newest
    return ((newest + 1,),) if newest < MOST_CHECKPOINTS else DISABLED


def known(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoints that were tried."""
    return [(checkpoint,) for checkpoint in range(1, ledger.recovered.newest + 1)]


def after_all(ledger: Ledger) -> Sequence[tuple[()]]:
    """Once the task is over, a few times."""
    return NO_OPERANDS if ledger.phase == "live" else alive(ledger)


# ---- the task --------------------------------------------------------------------------------------------------------
@step("task", DEPLOYED, when=always, begin=Ledger.begin_restore, end=Ledger.end, struck=Ledger.struck, weight=40,
      fails=True)  # fmt: skip
def restore_state(port: TaskRestorePort, ledger: Ledger) -> Answer[None]:
    return port.restore()


_TURNS: Mapping[Turn, str] = {
    Turn.ACTED: "ran a mail or took an element",
    Turn.WAITS: "waits for a mail or an element",
    Turn.OVER: "the task is over",
}


@step("task", RESTORED, when=after_all, begin=Ledger.begin_turn, end=Ledger.end, learn=Ledger.turned,
      struck=Ledger.turn_struck, weight=40, in_words=_TURNS.__getitem__)  # fmt: skip
def turn(port: TaskRestorePort, ledger: Ledger) -> Answer[Turn]:
    return port.turn()


@step("task", LIVE, when=selectable, end=Ledger.select, weight=4)
def select(port: TaskRestorePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.select(gate)


@step("task", LIVE, when=tried, begin=Ledger.begin, end=Ledger.end, learn=Ledger.tried,
      struck=Ledger.checkpoint_struck, weight=10, fails=True)  # fmt: skip
def checkpoint(port: TaskRestorePort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint(checkpoint)


# ---- the executor, the producers, the canceler -----------------------------------------------------------------------
@step("executor", RESTORED, when=after_all, begin=Ledger.begin_read, end=Ledger.end_read, learn=Ledger.was_read,
      struck=Ledger.read_struck, weight=30,
      in_words=whether("did a piece of work", "there was nothing to do"))  # fmt: skip
def read(port: TaskRestorePort, ledger: Ledger) -> Answer[bool]:
    return port.read()


def _begin_buffer(ledger: Ledger, channel: int) -> None:
    ledger.begin_arrival(channel, Buffer((ledger.recovered.next_record(channel),)))


@step("network", LIVE, when=sends, begin=_begin_buffer, end=Ledger.end, weight=10)
def buffer(port: TaskRestorePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.arrive(channel, ledger.recovered.lanes[channel].live[-1].element)


def _begin_end(ledger: Ledger, channel: int) -> None:
    ledger.begin_arrival(channel, EndOfPartition())


@step("network", LIVE, when=ends, begin=_begin_end, end=Ledger.end, weight=3)
def end_of_partition(port: TaskRestorePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.arrive(channel, ledger.recovered.lanes[channel].live[-1].element)


@step("canceler", RESTORED, when=after_all, begin=Ledger.begin_ending, end=Ledger.end, weight=1)
def cancel(port: TaskRestorePort, ledger: Ledger) -> Answer[None]:
    return port.cancel()


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", RESTORED, when=known, weight=8, in_words=records_by_channel)
def persisted(port: TaskRestorePort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, ("deployed", "live"), once=(OPERATORS_OPEN,), when=Ledger.strikable, weight=2)
resources = resources_step(STEPS, ALWAYS, weight=3)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restart)


def tried_afterwards(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, a few times after the task is over."""
    return tried(ledger) if alive(ledger) else DISABLED


checkpoint_over = checkpoint.also(
    "task over", ("over",), when=tried_afterwards, begin=Ledger.begin_too_late, end=Ledger.end, learn=Ledger.tried,
    weight=10, fails=True,
)  # fmt: skip

ACTS = (restore_state, turn, read, cancel)
"""The steps in which the task may get further, or be over."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _begin(ledger: Ledger) -> Any:
    return restore_state() if ledger.phase == "deployed" else None


def _all(ledger: Ledger) -> Any:
    return select(ALL_GATES) if ledger.is_live() and ledger.selected != ALL_GATES else None


def _turn(ledger: Ledger) -> Any:
    return turn() if ledger.is_live() and not ledger.finds_nothing() else None


def _read(ledger: Ledger) -> Any:
    if ledger.recovered.handing_on:  # it must be able to go on, unless it waits for a buffer
        return read() if ledger.phase in RESTORED and not ledger.is_waiting() else None
    return read() if ledger.is_live() and not ledger.lookers.found_nothing("executor") else None


def _ending(ledger: Ledger) -> Any:
    open_ends = ends(ledger) if ledger.is_live() else ()
    return end_of_partition(*open_ends[0]) if open_ends else None


def _rest(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    return [persisted(*one) for one in known(ledger)] if ledger.phase in RESTORED else ()


DRAIN = Drain[Ledger](
    While((_begin, _turn, _read)),
    While((_all, _turn, _read)),
    While((_turn, _read, _ending)),
    Each(_rest),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Let the threads act until they find nothing to do: first with what the operators read, then with all gates. Let every
channel end, and release."""
