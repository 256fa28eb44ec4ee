"""What threads wait for."""

from __future__ import annotations

import pytest

from conformance.scheduling import PAUSED, Clock, Condition, Future, Kernel, Lock, Mailbox, Pool


def kernel(*names):
    return Kernel(names or ("one", "two", "three"), fine=False)


def start(made, name, coroutine):
    return made.start(made.threads[name], (name,), coroutine)


def test_a_future_lets_all_go_who_wait_and_all_who_come_later():
    made, future = kernel(), Future("ready")

    async def waits():
        await future
        return "went on"

    assert start(made, "one", waits()) is PAUSED
    assert start(made, "two", waits()) is PAUSED
    future.complete()
    future.complete()
    assert made.finish(made.threads["two"]) == "went on"
    assert made.finish(made.threads["one"]) == "went on"
    assert start(made, "three", waits()) == "went on"


def test_a_condition_lets_the_lock_go_and_takes_it_again():
    made, lock = kernel(), Lock("lock")
    condition = Condition("condition", lock)

    async def waits():
        async with lock:
            await condition.wait()
            return lock.owner

    async def notifies():
        async with lock:
            condition.notify()

    assert start(made, "one", waits()) is PAUSED
    assert lock.owner is None
    assert start(made, "two", notifies()) is None
    assert made.finish(made.threads["one"]) is made.threads["one"]
    assert lock.owner is None


def test_a_notification_wakes_one_and_notify_all_wakes_the_rest():
    made, lock = kernel(), Lock("lock")
    condition = Condition("condition", lock)

    async def waits():
        async with lock:
            await condition.wait()

    for name in ("one", "two", "three"):
        start(made, name, waits())
    condition.notify()
    assert [thread.runnable for thread in made.threads.values()] == [True, False, False]
    condition.notify_all()
    assert all(thread.runnable for thread in made.threads.values())
    condition.notify()  # nobody waits: it is lost, as a Java monitor's is
    assert condition.waiting == []


def test_a_pool_makes_wait_and_knows_who_could_end_it():
    made, pool, pause = kernel(), Pool("buffers", 1), Future("pause")

    async def borrows():
        await pool
        await pause
        pool.passed_on()

    assert start(made, "one", borrows()) is PAUSED
    assert start(made, "two", borrows()) is PAUSED
    assert pool.holders() == (made.threads["one"],)
    assert made.deadlock() is None
    pause.complete()
    made.finish(made.threads["one"])
    assert pool.holders() == ()  # in a queue: anybody may return it
    assert not made.threads["two"].runnable
    pool.give_back()
    assert made.finish(made.threads["two"]) is None


def test_a_thread_that_waits_for_a_pool_that_it_emptied_is_deadlocked():
    made, pool = kernel(), Pool("buffers", 2)

    async def greedy():
        for _ in range(3):
            await pool

    assert start(made, "one", greedy()) is PAUSED
    assert made.deadlock() == "one waits for the buffers, which one holds"


def test_mails_come_in_order_and_a_closed_mailbox_takes_none():
    made: Kernel = kernel()
    box: Mailbox[int] = Mailbox("mailbox")

    async def reads():
        await box
        return box.take()

    assert start(made, "one", reads()) is PAUSED
    assert box.put(1)
    assert box.put(2)
    assert made.finish(made.threads["one"]) == 1
    assert start(made, "one", reads()) == 2
    assert box.put(3)
    assert box.close() == [3]
    assert not box.put(4)
    assert start(made, "one", reads()) is None


def test_time_moves_when_it_is_advanced():
    made, clock = kernel(), Clock()

    async def waits(milliseconds):
        await clock.timer("timer", milliseconds)
        return clock.now

    assert start(made, "one", waits(0)) == 0
    assert start(made, "one", waits(100)) is PAUSED
    clock.advance(99)
    assert not made.threads["one"].runnable
    clock.advance(1)
    assert made.finish(made.threads["one"]) == 100
    with pytest.raises(ValueError, match="time does not go back"):
        clock.advance(-1)
