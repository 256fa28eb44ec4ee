"""Who may go on, who waits for whom, and what a crash leaves behind."""

from __future__ import annotations

import pytest

from conformance.scheduling import PAUSED, Condition, Future, Kernel, Lock, Pause


def kernel(*names, fine=True):
    return Kernel(names or ("one", "two"), fine)


def start(made, name, coroutine):
    return made.start(made.threads[name], (name,), coroutine)


def through(made, name, coroutine):
    return made.finish(made.threads[name]) if start(made, name, coroutine) is PAUSED else None


async def inside(lock, log, name, *others):
    async with lock:
        log.append(name)
        for other in others:
            await inside(other, log, f"{name} in {other.name}")


async def value():
    return 7


async def failure():
    raise ValueError("broken")


def test_an_operation_that_awaits_nothing_is_over_at_once():
    made = kernel()
    assert start(made, "one", value()) == 7
    assert made.in_flight == 0
    assert made.runnable() is None


@pytest.mark.parametrize("fine", [True, False])
def test_an_operation_that_fails_is_over_and_its_locks_are_free(fine):
    made, lock = kernel(fine=fine), Lock("lock")

    async def operation():
        async with lock:
            await failure()

    with pytest.raises(ValueError, match="broken"):
        through(made, "one", operation())
    assert made.in_flight == 0
    assert lock.owner is None
    assert made.threads["one"].held == []


def test_fine_threads_pause_at_free_locks_and_whole_ones_do_not():
    for fine, answer in ((True, PAUSED), (False, None)):
        log: list[str] = []
        made = kernel(fine=fine)
        assert start(made, "one", inside(Lock("lock"), log, "one")) is answer
        assert log == ([] if fine else ["one"])


def test_who_holds_a_lock_keeps_others_out_until_it_is_given_back():
    log: list[str] = []
    made, lock = kernel(), Lock("lock")
    pause = Pause("between")

    async def long():
        async with lock:
            await pause
            log.append("long")

    assert start(made, "one", long()) is PAUSED
    assert made.run(made.threads["one"]) is PAUSED  # it has the lock now
    assert start(made, "two", inside(lock, log, "short")) is PAUSED
    assert not made.threads["two"].runnable
    assert made.runnable() is made.threads["one"]
    assert made.deadlock() is None  # somebody who can go on holds it
    assert made.run(made.threads["one"]) is None
    assert made.finish(made.threads["two"]) is None
    assert log == ["long", "short"]


def test_a_turn_ends_where_it_is_asked_to():
    made = kernel()
    log: list[str] = []
    locks = [Lock(name) for name in "abc"]
    assert start(made, "one", inside(locks[0], log, "one", *locks[1:])) is PAUSED
    assert made.run(made.threads["one"], "c") is PAUSED
    assert made.threads["one"].waits_for is locks[2]
    assert log == ["one", "one in b"]


def test_a_turn_that_never_comes_to_its_stop_ends_with_the_operation():
    made = kernel()
    assert start(made, "one", inside(Lock("a"), [], "one")) is PAUSED
    assert made.run(made.threads["one"], "elsewhere") is None


def test_a_deadlock_of_two_is_described_in_words():
    made, a, b = kernel(), Lock("a"), Lock("b")
    for name, first, second in (("one", a, b), ("two", b, a)):
        start(made, name, inside(first, [], name, second))
        assert made.run(made.threads[name]) is PAUSED
    assert made.runnable() is None
    assert made.deadlock() == "one waits for the b, which two holds; two waits for the a, which one holds"


def test_a_lock_taken_twice_is_a_circle_of_one():
    made, lock = kernel(fine=False), Lock("lock")
    assert start(made, "one", inside(lock, [], "one", lock)) is PAUSED
    assert made.deadlock() == "one waits for the lock, which one holds"


def test_a_thread_behind_a_circle_is_not_named_as_part_of_it():
    made, a, b = kernel("behind", "one", "two"), Lock("a"), Lock("b")
    for name, first, second in (("one", a, b), ("two", b, a)):
        start(made, name, inside(first, [], name, second))
        made.run(made.threads[name])
    start(made, "behind", inside(a, [], "behind"))
    circle = made.deadlock()
    assert circle is not None
    assert "behind" not in circle


def test_waiting_for_input_is_no_deadlock():
    made, lock, future = kernel(fine=False), Lock("lock"), Future("upstream")

    async def operation():
        async with lock:
            await future

    assert start(made, "one", operation()) is PAUSED
    assert start(made, "two", inside(lock, [], "two")) is PAUSED
    assert made.deadlock() is None
    assert made.waiting() == "one in one waits for the upstream; two in two waits for the lock"


def test_closing_gives_locks_back_and_runs_nobody():
    log: list[str] = []
    made, lock = kernel(), Lock("lock")
    condition = Condition("condition", lock)

    async def waits():
        async with lock:
            await condition.wait()
            log.append("woken")

    for name in ("one", "two"):
        start(made, name, waits())
        made.run(made.threads[name])
    assert made.close() == []
    assert made.in_flight == 0
    assert lock.owner is None
    assert condition.waiting == []
    assert log == []
    assert start(made, "one", value()) == 7  # the threads can be used again


def test_closing_twice_or_nobody_does_nothing():
    made = kernel()
    assert made.close() == []
    start(made, "one", inside(Lock("lock"), [], "one"))
    assert made.close() == []
    assert made.close() == []


def test_an_operation_that_fails_when_it_is_abandoned_is_a_complaint():
    made = kernel()

    async def stubborn():
        try:
            await Pause("somewhere")
        finally:
            raise OSError("disk full")

    start(made, "one", stubborn())
    assert made.close() == ["one raised when one was abandoned: disk full"]
    assert made.in_flight == 0


def test_awaiting_what_the_scheduler_does_not_know_is_an_error_of_the_operation():
    made = kernel()

    class Strange:
        def __await__(self):
            yield "something"

    async def operation():
        await Strange()

    with pytest.raises(TypeError, match="'something', which is not a Waitable"):
        start(made, "one", operation())
    assert made.in_flight == 0


def test_what_may_end_in_any_way_still_may_when_a_fault_strikes_it_as_well():
    made = kernel()
    for name in ("one", "two"):
        assert start(made, name, inside(Lock("lock"), [], name)) is PAUSED
    made.leave_open(but=made.threads["one"])
    made.leave_open(but=made.threads["two"])
    assert [one.open_ended for one in made.threads.values()] == [True, True]
    made.close()
