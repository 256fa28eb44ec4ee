"""Reduces the failures of an implementation in several worker processes at once.

A reduction depends only on its scenario, so that it comes to the same result in every process and in any order.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from conformance.campaigns.apart import SERVICE, Stopped
from conformance.campaigns.names import Names
from conformance.campaigns.plan import MOST_SECONDS, Plan
from conformance.campaigns.runners import hand_out
from conformance.engines.check import Found
from conformance.engines.lasting import LastingWorker
from conformance.engines.relay import Relay
from conformance.engines.tally import Failure, Signature, Tally
from conformance.engines.worker import Ended, Worker, WorkerFailed
from conformance.ports import Limits, UnusableImplementation


class Case(NamedTuple):
    """A failure to reduce."""

    component: str
    signature: Signature
    failure: Failure


def reduced_apart(
    plan: Plan,
    name: str,
    tallies: Mapping[str, Tally],
    names: Names,
    processes: int,
    keep: Callable[[Found], None],
) -> None:
    """Reduce one scenario of each signature in the tallies of an implementation, which are given by component.

    `keep` is called with each finding as soon as it is there, in any order and in this thread. A reduction that failed,
    or whose worker ended, is left out, as is a single failure: the caller reduces those in the process of the driver.
    """
    cases = [Case(component, *one) for component, tally in tallies.items() for one in tally.failures.items()]
    if len(cases) < 2:  # it takes less time than to start a worker
        return
    cases.sort(key=lambda one: -len(one.failure.scenario.steps))  # the long ones first, so that none is left at the end
    ending = threading.Event()

    def told(number: int) -> None:
        if ending.is_set():
            raise Stopped

    # What takes long here is the reduction and no single step, so no step is timed.
    hello = ("hello", replace(plan, implementations=(name,)), names.finder, names.components.where)
    limits = Limits(MOST_SECONDS)
    relays = [Relay(name) for _ in range(min(processes, len(cases)))]

    def lasting(relay: Relay) -> LastingWorker:
        return LastingWorker(lambda: Worker(hello, limits, names.components, relay, SERVICE, told), name, told)

    workers = [lasting(relay) for relay in relays]
    idle: queue.SimpleQueue[LastingWorker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def run(case: Case) -> Found | None:
        worker = idle.get()
        try:
            one: Found = worker.ask("reduce", *case)
        except (Ended, WorkerFailed, UnusableImplementation):
            return None
        else:
            return one
        finally:
            idle.put(worker)

    def commit(found: Found | None) -> None:
        if found is not None:
            keep(found)

    try:
        hand_out(iter(cases), run, commit, lambda: len(workers), ending.set)
    finally:
        for worker in workers:
            worker.close()
        for relay in relays:
            relay.finish()
