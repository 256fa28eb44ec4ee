"""A thread that waits for anything but a lock holds no lock."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest

from conformance.driver import COMES_TO_AN_END, NO_DEADLOCK, NO_LOCK_MEANWHILE, FailureClass, Run, run_scenario
from conformance.driver.turns import whole
from conformance.ports import ErrorKind, PortError
from conformance.scheduling import Clock, Condition, Future, Lock, Mailbox, Pause, Pool
from tests.engines.toy import program
from tests.engines.toy_gate import Gate, Toy, ToyConfig

PUSH = [("push", 0), ("finish", "recovery")]


def one_permit() -> Pool:
    pool = Pool("pool", 1)
    pool.free = 0
    return pool


def other_condition() -> Awaitable[None]:
    other = Lock("other lock")

    async def wait() -> None:
        async with other:
            await Condition("something", other).wait()

    return wait()


NEVER_READY: dict[str, Callable[[], Awaitable[object]]] = {
    "future": lambda: Future("answer"),
    "pool": one_permit,
    "timer": lambda: Clock().timer("timeout", 100),
    "mailbox": lambda: Mailbox[int]("mails"),
    "condition of another lock": other_condition,
}


def pushed(gate: type[Gate], interleaving: Literal["whole", "fine"]) -> Run:
    return run_scenario(program(Toy(gate, "waiting")), ToyConfig(1, interleaving), PUSH)


def waiting(wanted: Callable[[], Awaitable[object]], locked: bool) -> type[Gate]:
    class Waiting(Gate):
        async def push(self, channel: int, buffer: int) -> None:
            if locked:
                async with self.lock:
                    await wanted()
            await wanted()

    return Waiting


@pytest.mark.parametrize("interleaving", ["whole", "fine"])
@pytest.mark.parametrize("wanted", NEVER_READY.values(), ids=NEVER_READY)
def test_a_thread_that_waits_with_a_lock_is_accused(wanted, interleaving):
    violation = pushed(waiting(wanted, locked=True), interleaving).violation
    assert violation is not None
    assert violation.property.slug == NO_LOCK_MEANWHILE
    assert violation.broken.failure_class is FailureClass.DEADLOCKED
    assert violation.broken.observed.startswith("recovery waits for ")
    assert violation.broken.observed.endswith("and holds the gate lock")
    assert violation.step == ("push", 0)


@pytest.mark.parametrize("interleaving", ["whole", "fine"])
@pytest.mark.parametrize("wanted", NEVER_READY.values(), ids=NEVER_READY)
def test_a_thread_that_waits_without_a_lock_is_not(wanted, interleaving):
    run = pushed(waiting(wanted, locked=False), interleaving)
    assert run.violation is not None
    assert run.violation.property.slug == COMES_TO_AN_END  # nobody ever ends the wait
    ready = program()
    assert NO_LOCK_MEANWHILE in ready.exercised(run.exercised)


@pytest.mark.parametrize("interleaving", ["whole", "fine"])
def test_a_condition_gives_its_own_lock_back_while_its_thread_waits(interleaving):
    class AtACondition(Gate):
        async def push(self, channel: int, buffer: int) -> None:
            async with self.lock:
                await Condition("something", self.lock).wait()

    violation = pushed(AtACondition, interleaving).violation
    assert violation is not None
    assert violation.property.slug == COMES_TO_AN_END


@pytest.mark.parametrize("interleaving", ["whole", "fine"])
def test_what_is_ready_is_not_waited_for(interleaving):
    class AwaitsWhatIsThere(Gate):
        async def push(self, channel: int, buffer: int) -> None:
            done = Future("done")
            done.complete()
            async with self.lock:
                await done
                await Pool("pool", 1)
                await Pause("a place")
            await super().push(channel, buffer)

    assert pushed(AwaitsWhatIsThere, interleaving).violation is None


def test_a_thread_may_wait_for_a_lock_with_a_lock():
    class TakesTwo(Gate):
        async def push(self, channel: int, buffer: int) -> None:
            async with self.lock, self.lock:
                pass

    run = pushed(TakesTwo, "whole")
    assert run.violation is not None
    assert run.violation.property.slug == NO_DEADLOCK
    assert NO_LOCK_MEANWHILE not in program().exercised(run.exercised)  # it judges no thread that waits for a lock


@pytest.mark.parametrize("interleaving", ["whole", "fine"])
def test_the_drain_releases_nothing_before_all_that_was_begun_has_ended(interleaving):
    """No step of the drain needs the thread of this operation, and nobody would have missed it after the release."""

    class NeverEnds(Gate):
        async def arrive(self, channel: int, buffer: int) -> None:
            await super().arrive(channel, buffer)
            await Future("answer")

    steps = [("convert", 0), ("finish", "recovery"), ("arrive", 0), ("finish", "network")]
    violation = run_scenario(program(Toy(NeverEnds, "waiting")), ToyConfig(1, interleaving), steps).violation
    assert violation is not None
    assert violation.property.slug == COMES_TO_AN_END
    assert violation.broken.observed == "network in arrive waits for the answer"
    assert violation.step == ("arrive", 0)


def test_a_thread_that_passes_a_place_and_waits_at_its_namesake_comes_there_again_in_a_replay():
    """The locks of channels with the same number in two gates have one name, and `run` would end at the first."""

    class PassesAndWaits(Gate):
        async def push(self, channel: int, buffer: int) -> None:
            async with Lock("first lock"):
                await Pause("a place")
            await Future("a place")

    toy = program(Toy(PassesAndWaits, "waiting"))
    begun = [("push", 0)]
    assert run_scenario(toy, ToyConfig(1, "fine"), [*begun, ("finish", "recovery")]).performed == [
        *begun, ("finish", "recovery"),
    ]  # fmt: skip
    one_by_one = [*begun, ("run", "recovery", "a place"), ("run", "recovery", "a place")]
    assert run_scenario(toy, ToyConfig(1, "fine"), [*begun, *[("run", "recovery", "")] * 2]).performed == one_by_one


def test_an_operation_of_no_thread_leaves_nothing_behind():
    """The locks that it took in turn were kept, and with them every port of a long search."""
    outer, inner = Lock("outer lock"), Lock("inner lock")

    async def takes() -> None:
        async with outer, inner:
            pass

    before = sys.getrefcount(inner)
    whole(takes())
    gc.collect()
    assert sys.getrefcount(inner) == before


def test_an_operation_of_no_thread_that_has_to_wait_is_closed():
    async def waits() -> None:
        await Future("answer")

    made = waits()
    with pytest.raises(PortError, match="must run to its end without a pause") as raised:
        whole(made)
    assert raised.value.kind is ErrorKind.PROTOCOL
    assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED
