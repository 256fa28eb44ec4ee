"""Orders of locks that contradict each other, and those that only seem to."""

from __future__ import annotations

import pytest

from conformance.scheduling import Kernel, Lock, describe


async def take(*locks):
    if locks:
        async with locks[0]:
            await take(*locks[1:])


def order(*chains, names=("one", "two")):
    """The orders of threads that each take their locks one inside the other."""
    made = Kernel(names, fine=False)
    for name, locks in chains:
        made.start(made.threads[name], (name,), take(*locks))
    return made.order


A, B, C, GUARD = (Lock(name) for name in ("a", "b", "c", "guard"))


def test_one_order_is_no_contradiction():
    assert order(("one", (A, B, C)), ("two", (A, C))).cycle() == ()


def test_two_threads_that_take_two_locks_in_turn_can_meet():
    cycle = order(("one", (A, B)), ("two", (B, A))).cycle()
    assert describe(cycle) == "one takes the a and then the b; two takes the b and then the a"


def test_one_thread_never_meets_itself():
    assert order(("one", (A, B)), ("one", (B, A))).cycle() == ()


def test_a_guard_that_both_hold_keeps_them_apart():
    assert order(("one", (GUARD, A, B)), ("two", (GUARD, B, A))).cycle() == ()


def test_a_guard_that_only_one_holds_keeps_nobody_apart():
    assert order(("one", (GUARD, A, B)), ("two", (B, A))).cycle() != ()


def test_a_circle_of_three():
    chains = ("one", (A, B)), ("two", (B, C)), ("three", (C, A))
    assert len(order(*chains, names=("one", "two", "three")).cycle()) == 3


@pytest.mark.parametrize("last", range(3))
def test_a_circle_is_found_from_whichever_of_its_orders_is_new(last):
    chains, names = (("one", (A, B)), ("two", (B, C)), ("three", (C, A))), ("one", "two", "three")
    known = order(*chains[:last], *chains[last + 1 :], names=names)
    assert known.cycle() == ()
    assert known.absorb(known) == []
    new = known.absorb(order(*chains, names=names))
    assert [one.thread for one in new] == [names[last]]
    assert len(known.cycle(new)) == 3


def test_locks_of_a_kind_stand_for_each_other():
    gate = Lock("gate")
    first, second = (Lock(f"channel {number}", "channel") for number in range(2))
    assert order(("one", (first, gate)), ("two", (gate, second))).cycle() != ()


def test_locks_of_a_kind_are_taken_by_rank_or_not_together():
    plain = [Lock(f"channel {number}", "channel") for number in range(2)]
    ranked = [Lock(f"channel {number}", "channel", number) for number in range(2)]
    assert order(("one", plain)).cycle() != ()
    assert order(("one", ranked)).cycle() == ()
    assert order(("one", ranked[::-1])).cycle() != ()


def test_orders_of_several_runs_can_be_put_together():
    one, other = order(("one", (A, B))), order(("two", (B, A)))
    assert one.cycle() == other.cycle() == ()
    one.absorb(other)
    assert one.changed
    assert one.cycle() != ()
