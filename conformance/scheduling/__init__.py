"""Logical threads, and what they wait for: locks, conditions, futures, pools, mailboxes, virtual time.

A logical thread is a coroutine. It can pause only where it awaits a `Waitable`, and the driver decides which thread
goes on. A race is therefore a list of steps like any other. This room imports no other room and has no global state.
"""

from conformance.scheduling.kernel import PAUSED, Kernel
from conformance.scheduling.lock_order import Edge, LockOrder, describe
from conformance.scheduling.thread import Thread
from conformance.scheduling.time import Clock, Timer
from conformance.scheduling.waitables import Condition, FreeLock, Future, Lock, Mailbox, Pause, Pool, Waitable
from conformance.scheduling.words import with_article

__all__ = [
    "PAUSED",
    "Clock",
    "Condition",
    "Edge",
    "FreeLock",
    "Future",
    "Kernel",
    "Lock",
    "LockOrder",
    "Mailbox",
    "Pause",
    "Pool",
    "Thread",
    "Timer",
    "Waitable",
    "describe",
    "with_article",
]
