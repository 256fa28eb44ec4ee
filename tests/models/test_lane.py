"""A channel from its producer to its consumer: what is there for certain, what was recovered, what has priority."""

from __future__ import annotations

import pytest

from conformance.models.consumer import Consumer, NumberedConsumer
from conformance.models.lane import Lane, Recovered, Sent
from conformance.models.starts import DECLINED, SUBSUMED, SUBSUMED_OR_DECLINED, UNOPPOSED
from conformance.ports import Alignment, Barrier, Buffer, DataAvailable, Element, Event, PriorityAvailable


# ---- recovered data --------------------------------------------------------------------------------------------------
def test_a_buffer_is_there_for_certain_once_its_push_is_over():
    recovered = Recovered()
    recovered.begin_push((1,))
    assert (recovered.there(), recovered.left(), recovered.pushed) == (0, (1,), 1)
    recovered.end_push()
    recovered.begin_push((2, 3))
    assert recovered.there() == 1
    assert recovered.being_pushed() == Buffer((2, 3))
    assert recovered.left() == (1, 2, 3)


def test_a_buffer_may_be_taken_before_its_push_is_over():
    recovered = Recovered()
    recovered.begin_push((1,))
    recovered.take_recovered(4)
    assert (recovered.there(), recovered.taken, recovered.seq) == (0, 1, 5)
    recovered.end_push()
    assert recovered.there() == 0


def test_what_was_handed_over_is_there_from_the_beginning():
    recovered = Recovered((7, 8))
    assert (recovered.there(), recovered.pushed, recovered.left()) == (2, 2, (7, 8))
    assert not recovered.consumed
    assert Recovered(recovers=False).consumed


def test_a_recovery_barrier_stands_behind_what_was_there_and_before_what_comes():
    recovered = Recovered()
    for record in (1, 2):
        recovered.begin_push((record,))
        recovered.end_push()
    recovered.take_recovered(0)
    recovered.begin_push((3,))
    recovered.begin_mark(9)
    recovered.end_mark(9)
    mark = recovered.marks[9]
    assert (mark.least, mark.most) == (2, 3)
    assert recovered.before(mark.least) == (2,)
    assert recovered.before(mark.most) == (2, 3)
    recovered.take_recovered(1)
    recovered.take_recovered(2)
    assert recovered.before(mark.least) == ()


# ---- live data -------------------------------------------------------------------------------------------------------
def test_priority_events_stand_apart_and_what_is_sent_is_numbered():
    lane = Lane(recovers=False)
    lane.send(Event(0))
    lane.end_send()
    lane.send(Barrier(1, Alignment.UNALIGNED))
    assert [sent.sure for sent in (*lane.live, *lane.urgent)] == [True, False]
    lane.end_send()
    assert lane.urgent[0].sure
    assert [sent.number for sent in (*lane.live, *lane.urgent)] == [0, 1]
    assert lane.head() is lane.live[0]


def test_an_announced_barrier_moves_to_the_front_once():
    lane = Lane(recovers=False)
    lane.send(Buffer((1,)))
    lane.send(Barrier(1, Alignment.TIMEOUTABLE))
    assert lane.to_front(1)
    assert not lane.to_front(1)
    assert lane.urgent[0].element == Barrier(1, Alignment.UNALIGNED)
    assert [type(sent.element) for sent in lane.live] == [Buffer]


def test_recovered_data_comes_before_live_data():
    lane = Lane((5,))
    lane.send(Buffer((6,)))
    head = lane.head()
    assert head is not None
    assert head.element == Buffer((5,))
    lane.take_recovered(0)
    head = lane.head()
    assert head is not None
    assert head.element == Buffer((6,))
    del lane.live[0]
    assert lane.head() is None


def test_what_stands_in_front_of_a_barrier():
    lane = Lane(recovers=False)
    for record in (1, 2):
        element = Buffer((record,))
        lane.notice(element, lane.send(element).number)
    barrier = Barrier(1, Alignment.ALIGNED)
    lane.notice(barrier, lane.send(barrier).number)
    lane.send(Buffer((3,)))
    assert lane.in_front(1) == (1, 2)
    assert lane.in_front(2) == (1, 2, 3)


# ---- what a take finds next ------------------------------------------------------------------------------------------
def sent(lane: Lane, element: Element) -> Sent:
    """An element whose sending is over."""
    one = lane.send(element)
    lane.end_send()
    return one


def test_a_take_finds_a_priority_event_then_recovered_data_then_live_data():
    lane = Lane((0,))
    live, barrier = sent(lane, Buffer((1,))), sent(lane, Barrier(1, Alignment.UNALIGNED))
    assert lane.priority_waits()
    assert lane.next(hidden=False) is barrier
    del lane.urgent[0]
    assert not lane.priority_waits()
    assert lane.next(hidden=False) is lane.next_ordinary(hidden=True) is lane.waiting[0]
    lane.take_recovered(0)
    assert lane.next(hidden=True) is None
    assert lane.next(hidden=False) is live


def test_a_take_finds_for_certain_only_what_was_sent_before():
    lane = Lane(recovers=False)
    lane.send(Buffer((0,)))
    assert lane.next(hidden=False) is None
    lane.end_send()
    assert lane.next(hidden=False) is lane.live[0]


@pytest.mark.parametrize("passes", [False, True])
def test_of_a_blocked_channel_a_take_finds_at_most_a_priority_event(passes: bool):
    lane = Lane(recovers=False, passes=passes)
    sent(lane, Buffer((0,)))
    lane.blocked = True
    assert lane.next(hidden=False) is None
    barrier = sent(lane, Barrier(1, Alignment.UNALIGNED))
    assert lane.priority_waits() is passes
    assert lane.next(hidden=False) is (barrier if passes else None)


def test_a_start_is_refused_for_a_newer_barrier_and_in_recovery_without_a_mark():
    lane = Lane((0,))
    assert lane.refuses(1) == DECLINED
    lane.begin_mark(1)
    assert lane.refuses(1) == UNOPPOSED
    lane.notice(Barrier(2, Alignment.ALIGNED))
    assert lane.refuses(1) == SUBSUMED
    lane.marks.clear()
    assert lane.refuses(1) == SUBSUMED_OR_DECLINED


# ---- the consumer ----------------------------------------------------------------------------------------------------
def test_a_take_follows_a_notification():
    consumer = Consumer()
    consumer.hear([DataAvailable()])
    assert consumer.awake
    consumer.begin_take()
    consumer.took(more=False)
    assert not consumer.awake
    consumer.begin_take()
    consumer.hear([PriorityAvailable(0)])
    consumer.took(more=False)
    assert consumer.awake


def test_a_priority_event_that_was_taken_before_its_notification_is_stale():
    consumer = NumberedConsumer()
    consumer.hear_numbers([PriorityAvailable(3)], next_number=4)
    assert consumer.stale
    assert consumer.announced == -1
    consumer.hear_numbers([PriorityAvailable(4)], next_number=4)
    assert consumer.announced == 4
    consumer.begin_take()
    assert consumer.announced_before == 4
    consumer.took_number(more=True, number=4)
    assert (consumer.announced, consumer.stale, consumer.awake) == (-1, False, True)


def test_a_take_without_a_reason_does_not_count_as_empty():
    consumer = Consumer()
    consumer.begin_counted_take()
    consumer.empty_takes += 1
    assert consumer.empty_takes == 0
    consumer.hear([PriorityAvailable(0)])
    assert consumer.awake
    assert consumer.expects_priority
    consumer.begin_counted_take()
    consumer.empty_takes += 1
    assert consumer.empty_takes == 1
    assert not consumer.expects_priority
