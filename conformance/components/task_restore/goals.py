"""Situations that a campaign must have seen in the restore of a task."""

from __future__ import annotations

from typing import Any

from conformance.components.task_restore import steps
from conformance.components.task_restore.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import IN_MEMORY, PUSHED, RECOVER_FIRST
from conformance.ports import GateConverted, Recovery, TaskState, TaskStateChanged, Turn

RUNNING = TaskState.RUNNING
WAITS = Turn.WAITS
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("task-restore")
goal = RULES.goal


@goal(steps.turn, signals=(GateConverted,))
def a_gate_was_converted_while_another_was_never_read(ledger: Ledger, seen: Seen[Turn]) -> bool:
    """A gate was converted while another one, with recovered data, was not converted and not read."""
    return any(
        type(one) is GateConverted
        and any(
            not ledger.converted[gate] and not ledger.reads(gate) and ledger.recovered.left_of(gate) > 0
            for gate in range(len(ledger.recovered.gates))
            if gate != one.gate
        )
        for one in seen.signals
    )


@goal(steps.turn, needs=IN_MEMORY)
def the_input_ended_during_the_restore(ledger: Ledger, seen: Seen[Turn]) -> bool:
    """The task waited because every channel had ended, and had not finished to restore."""
    waits = seen.value is WAITS and ledger.state is TaskState.INITIALIZING
    return waits and bool(ledger.recovered.gates) and ledger.recovered.has_ended()


@goal(steps.cancel)
def a_task_was_cancelled_before_a_gate_was_converted(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled while it restored and no gate was converted."""
    return _cancelled(seen) and bool(ledger.recovered.gates) and not any(ledger.converted)


@goal(steps.cancel, needs=IN_MEMORY)
def a_task_was_cancelled_with_recovered_data_left(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled when all gates were converted and recovered data was not processed."""
    return _cancelled(seen) and all(ledger.converted) and ledger.recovered.left() > 0


@goal(steps.cancel)
def a_task_was_cancelled_when_it_ran(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled after its restore."""
    return _cancelled(seen) and ledger.state is RUNNING


@goal(steps.cancel)
def a_task_was_cancelled_while_its_threads_acted(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled while its thread, or the executor, was in the middle of an operation."""
    return _cancelled(seen) and ledger.flying > 1


def _cancelled(seen: Seen[Any]) -> bool:
    return TaskStateChanged(TaskState.CANCELED) in seen.signals


@goal(steps.checkpoint)
def a_checkpoint_was_declined_during_the_restore(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A task declined a checkpoint while it restored."""
    return seen.error is not None and ledger.state is TaskState.INITIALIZING


def _with_data(ledger: Ledger, seen: Seen[None, int], recovery: Recovery) -> bool:
    return seen.error is None and ledger.recovery is recovery and ledger.recovered.left() > 0


@goal(steps.checkpoint, needs=IN_MEMORY)
def a_checkpoint_was_taken_with_recovered_data_in_memory(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A task took its part of a checkpoint when its channels held recovered data that was handed over to them."""
    return _with_data(ledger, seen, Recovery.IN_MEMORY)


@goal(steps.checkpoint, needs=PUSHED)
def a_checkpoint_was_taken_while_recovered_data_was_pushed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A task took its part of a checkpoint before all recovered data was pushed and processed."""
    return _with_data(ledger, seen, Recovery.PUSHED)


@goal(steps.turn, needs=RECOVER_FIRST)
def a_task_ran_that_had_processed_its_recovered_data_first(ledger: Ledger, seen: Seen[Turn]) -> bool:
    """The restore ended of a task that processes recovered data before the conversion."""
    return _runs(seen) and ledger.processes_first() and any(ledger.recovered.state)


@goal(steps.turn)
def a_task_ran_that_had_nothing_to_recover(ledger: Ledger, seen: Seen[Turn]) -> bool:
    """The restore ended of a task that has gates and nothing to recover."""
    return _runs(seen) and bool(ledger.recovered.gates) and not any(ledger.recovered.state)


@goal(steps.turn)
def a_source_ran(ledger: Ledger, seen: Seen[Turn]) -> bool:
    """The restore ended of a task without gates."""
    return _runs(seen) and not ledger.recovered.gates


def _runs(seen: Seen[Turn]) -> bool:
    return TaskStateChanged(RUNNING) in seen.signals
