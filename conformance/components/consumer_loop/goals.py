"""Situations that a campaign must have seen in a consumer loop."""

from __future__ import annotations

from typing import Any

from conformance.components.consumer_loop import steps
from conformance.components.consumer_loop.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.ports import Announcement, Barrier, Buffer, CheckpointDeclined, ElementTaken, InputStatus

END_OF_INPUT = InputStatus.END_OF_INPUT
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("consumer-loop")
goal = RULES.goal


def _taken(seen: Seen[Any]) -> list[Any]:
    return [signal.element for signal in seen.signals if type(signal) is ElementTaken]


@goal(steps.run_mail, signals=(ElementTaken,))
def a_mail_took_several_priority_events(ledger: Ledger, seen: Seen[bool]) -> bool:
    """One mail took two priority events or more."""
    return len(_taken(seen)) > 1


@goal(steps.run_mail)
def a_mail_found_no_priority_event(ledger: Ledger, seen: Seen[bool]) -> bool:
    """A mail did nothing, because what it was for had been done before."""
    return seen.value is True and not seen.signals


@goal(steps.process, signals=(ElementTaken,))
def the_default_action_took_a_priority_event(ledger: Ledger, seen: Seen[InputStatus]) -> bool:
    """The default action took an unaligned barrier or an announcement before a mail did."""
    urgent = [sent.element for sent in ledger.lanes[0].urgent]
    return any(isinstance(one, Announcement) or one in urgent for one in _taken(seen))


@goal(steps.process, signals=(ElementTaken,))
def an_announced_barrier_came_in_its_turn(ledger: Ledger, seen: Seen[InputStatus]) -> bool:
    """The default action took a timeoutable barrier behind the records in front of it."""
    return any(isinstance(one, Barrier) and one.data_type.needs_announcement for one in _taken(seen))


@goal(steps.run_mail, signals=(ElementTaken,))
def an_announced_barrier_overtook_records(ledger: Ledger, seen: Seen[bool]) -> bool:
    """A mail took an announced barrier while records in front of it were waiting."""
    urgent = [sent.element for lane in ledger.lanes for sent in lane.urgent]
    records_wait = any(isinstance(lane.live[0].element, Buffer) for lane in ledger.lanes if lane.live)
    return records_wait and any(isinstance(one, Barrier) and one not in urgent for one in _taken(seen))


@goal(steps.run_mail)
def a_timer_acted_in_a_mail(ledger: Ledger, seen: Seen[bool]) -> bool:
    """A mail that took nothing first made an alignment unaligned."""
    return bool(seen.signals) and type(seen.signals[0]) is not ElementTaken


@goal(*steps.ACTS)
def an_element_arrived_while_the_task_acted(ledger: Ledger, seen: Seen[Any]) -> bool:
    """The task took something while the network thread was in the middle of an arrival."""
    return ledger.flying > 1 and bool(seen.signals)


@goal(*steps.ACTS, signals=(CheckpointDeclined,))
def the_inputs_refused_a_checkpoint(ledger: Ledger, seen: Seen[Any]) -> bool:
    """A checkpoint was declined because a newer barrier had arrived in a channel, and was not taken."""
    return any(lane.urgent for lane in ledger.lanes)


@goal(steps.process)
def the_input_ended_after_a_checkpoint(ledger: Ledger, seen: Seen[InputStatus]) -> bool:
    """Every channel ended in a run that had triggered a checkpoint."""
    return seen.value is END_OF_INPUT and bool(ledger.alignment.triggered)
