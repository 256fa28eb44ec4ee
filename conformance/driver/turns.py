"""Turns: an operation that is not over is a paused thread, and what the way threads wait proves.

A thread goes on by turns, which are steps like any other. What can be seen of threads while they wait is judged here:
that none wait for each other in a circle, that locks are taken in one order, that what was begun comes to an end.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from conformance.driver.judge import Judge
from conformance.driver.judgement import Broken, FailureClass
from conformance.driver.own_rules import COMES_TO_AN_END, NO_CIRCLE, ONE_ORDER
from conformance.driver.step import FINISH, RUN
from conformance.driver.violation import Violation, as_error, unexpected
from conformance.ports import Error, ErrorKind, PortError, Signal
from conformance.scenarios import Step
from conformance.scheduling import PAUSED, Kernel, LockOrder, Thread, Waitable, describe


def go_on(kernel: Kernel, judge: Judge, step: Step) -> Step:
    """Let a paused thread go on, and note what it answered, if its operation is over.

    Returns the turn with the place where it ended: `run` where it paused, `finish` where its operation is over.
    """
    thread = kernel.threads[step[1]]
    seen = judge.seen
    seen.error = None
    value: Any = None
    try:
        value = kernel.finish(thread) if step[0] == FINISH else kernel.run(thread, step[2])
    except Exception as error:
        seen.error = as_error(error)
    if value is PAUSED:
        assert thread.waits_for is not None
        return RUN, thread.name, thread.waits_for.name
    seen.value = value
    return FINISH, thread.name


def check_wait(kernel: Kernel, judge: Judge, thread: Thread, at: Waitable) -> None:
    """A thread must wait: may it ever go on? Raises: Violation."""
    judge.mark(COMES_TO_AN_END)
    if at.holders():
        judged = judge.mark(NO_CIRCLE)
        if judged is not None and (circle := kernel.deadlock()):
            broken = Broken(FailureClass.DEADLOCKED, "every thread must be able to go on", circle)
            raise Violation(judged, broken, thread.operation)


def check_order(kernel: Kernel, judge: Judge, operation: Step) -> None:
    """Locks were taken one inside the other as never before in this run. Raises: Violation."""
    kernel.order.changed = False
    judged = judge.mark(ONE_ORDER)
    if judged is not None and not judge.program.has_order(kernel.order) and (cycle := kernel.order.cycle()):
        owed = "locks must be taken in one order by all threads that can meet"
        raise Violation(judged, Broken(FailureClass.DEADLOCKED, owed, describe(cycle)), operation)


def check_end(kernel: Kernel, judge: Judge, busy: Thread | None) -> None:
    """The drain has nothing left to do, or only for the thread `busy`, and somebody waits. Raises: Violation."""
    stuck = busy or next(thread for thread in kernel.threads.values() if thread.coroutine is not None)
    owed = "an operation must come to an end once all it may wait for has happened"
    broken = Broken(FailureClass.STUCK, owed, kernel.waiting())
    raise Violation(judge.own(COMES_TO_AN_END), broken, stuck.operation)


def abandon(kernel: Kernel, judge: Judge, signals: list[Signal], step: Step) -> None:
    """Every operation in flight dies here and now. Raises: Violation if one does not."""
    complaints = kernel.close()
    for thread in kernel.threads.values():
        thread.emitted.clear()
    signals.clear()
    if complaints:
        raise unexpected(judge.program.answers, Error(ErrorKind.CRASHED, "; ".join(complaints)), step)


def whole(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run an asynchronous operation that never has to wait. Raises: PortError PROTOCOL if it does."""
    try:
        while (at := coroutine.send(None)) is not None and at.ready():
            at.grant(_NOBODY)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise PortError(ErrorKind.PROTOCOL, "the operation paused, but here operations run whole")


_NOBODY = Thread("nobody", LockOrder())
"""Runs operations of components without threads, and observations."""
