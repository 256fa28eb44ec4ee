"""Turns let paused threads go on, and this module judges how threads wait.

A thread whose operation has begun and not ended is paused. It goes on by turns, which are steps like any other. Four
rules are judged here: threads are not deadlocked, they take locks in one order, they hold no lock while they wait for
anything else, and an operation that has begun comes to an end.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from conformance.driver.judge import Judge
from conformance.driver.judgement import Broken, FailureClass
from conformance.driver.own_rules import COMES_TO_AN_END, NO_DEADLOCK, NO_LOCK_MEANWHILE, ONE_ORDER
from conformance.driver.step import FINISH, RUN
from conformance.driver.violation import Violation, as_error, unexpected
from conformance.ports import Error, ErrorKind, PortError, Signal
from conformance.scenarios import Step
from conformance.scheduling import PAUSED, Kernel, Lock, LockOrder, Thread, Waitable, describe, with_article


def go_on(kernel: Kernel, judge: Judge, step: Step) -> Step:
    """Let a paused thread go on. If its operation ends, store the outcome in `judge.seen`.

    Returns the turn with the place where it ended: `run` and the place of the next pause, or `finish` if the operation
    has ended. It is `finish`, too, if the thread must wait at a place and has passed another of the same name: `run`
    would end there.
    """
    thread = kernel.threads[step[1]]
    seen = judge.seen
    seen.error = None
    value: Any = None
    passed: list[str] = []
    try:
        value = kernel.finish(thread, passed) if step[0] == FINISH else kernel.run(thread, step[2], passed)
    except BaseException as error:
        seen.error = as_error(error)
    if value is PAUSED:
        assert thread.waits_for is not None
        stop = thread.waits_for.name
        return (FINISH, thread.name) if stop in passed else (RUN, thread.name, stop)
    seen.value = value
    return FINISH, thread.name


def check_wait(kernel: Kernel, judge: Judge, thread: Thread, at: Waitable) -> None:
    """Check whether a thread that must wait is in a deadlock. Raises: Violation."""
    judge.mark(COMES_TO_AN_END)
    if at.holders():
        judged = judge.mark(NO_DEADLOCK)
        if judged is not None and (circle := kernel.deadlock()):
            broken = Broken(FailureClass.DEADLOCKED, "every thread must be able to go on", circle)
            raise Violation(judged, broken, thread.operation)


def check_held(judge: Judge, thread: Thread, at: Waitable) -> None:
    """Check whether a thread that must wait for anything but a lock holds one. Raises: Violation."""
    judged = None if isinstance(at, Lock) else judge.mark(NO_LOCK_MEANWHILE)
    if judged is not None and thread.held:
        held = " and ".join(with_article(lock.name) for lock in thread.held)
        owed = "a thread that waits for anything but a lock must hold no lock"
        observed = f"{thread.name} waits for {with_article(at.name)} and holds {held}"
        raise Violation(judged, Broken(FailureClass.DEADLOCKED, owed, observed), thread.operation)


def check_order(kernel: Kernel, judge: Judge, operation: Step) -> None:
    """Check the lock order after a thread took a lock inside others as never before in this run. Raises: Violation."""
    kernel.order.changed = False
    judged = judge.mark(ONE_ORDER)
    if judged is not None and not judge.program.has_order(kernel.order) and (cycle := kernel.order.cycle()):
        owed = "threads that can run at the same time must take locks in one order"
        raise Violation(judged, Broken(FailureClass.DEADLOCKED, owed, describe(cycle)), operation)


def check_end(kernel: Kernel, judge: Judge, busy: Thread | None) -> None:
    """Report the operation that still waits although the drain has no step left, or only one of the thread `busy`.

    Raises: Violation.
    """
    stuck = busy or next(thread for thread in kernel.threads.values() if thread.coroutine is not None)
    owed = "an operation must end once everything that it may wait for has happened"
    broken = Broken(FailureClass.STUCK, owed, kernel.waiting())
    raise Violation(judge.own(COMES_TO_AN_END), broken, stuck.operation)


def abandon(kernel: Kernel, judge: Judge, signals: list[Signal], step: Step) -> None:
    """Abandon every operation in flight. Raises: Violation if one of them raises an error at that."""
    complaints = kernel.close()
    for thread in kernel.threads.values():
        thread.emitted.clear()
        thread.open_ended = False
    signals.clear()
    if complaints:
        raise unexpected(judge.program.answers, Error(ErrorKind.CRASHED, "; ".join(complaints)), step)


def whole(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run an asynchronous operation to its end. Raises: PortError of kind PROTOCOL if it has to wait.

    It belongs to no thread of the component. A thread of its own takes the locks, so that nothing of it is kept.
    """
    nobody = None
    try:
        while (at := coroutine.send(None)) is not None and at.ready():
            nobody = nobody or Thread("nobody", LockOrder())
            at.grant(nobody)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise PortError(ErrorKind.PROTOCOL, "the operation paused, although it must run to its end without a pause")
