"""An implementation that runs in a worker process, and what becomes of a search when that process ends.

Implementations that are not the suite's own are run in this way, so that nothing that they do can end or stall the
search, or use up the memory of the machine. Its own ones run in the process of the driver, as quickly as ever.
A program behind a wire is in a process of its own anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Broken, Component, Components, Program, Run, Violation
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.lasting import LastingWorker
from conformance.engines.relay import Relay
from conformance.engines.tally import Failure, Signature
from conformance.engines.worker import Ended, Told, Worker
from conformance.ports import (
    Capability,
    ErrorKind,
    Implementation,
    KnownBug,
    Limits,
    PortError,
    find_implementation,
)
from conformance.ports.implementation import Factory
from conformance.ports.registry import (
    IMPLEMENTATIONS,
    KNOWN_BUG_SCHEME,
    KNOWN_BUGS,
    LEGAL_VARIANT_SCHEME,
    LEGAL_VARIANTS,
    own_points,
)
from conformance.scenarios import Entry, Scenario

OWED = "every operation must return, and leave its process alone"
USUAL = Limits()


def is_ours(name: str) -> bool:
    """Returns whether the code that this name loads is the suite's own. A program that it starts need not be."""
    for scheme, group in ((KNOWN_BUG_SCHEME, KNOWN_BUGS), (LEGAL_VARIANT_SCHEME, LEGAL_VARIANTS)):
        if name.startswith(scheme):
            return any(one.id == name.removeprefix(scheme) for point in own_points(group) for one in point.load())
    return re.split("[@:]", name, maxsplit=1)[0] in {point.name for point in own_points(IMPLEMENTATIONS)}


def our_known_bugs() -> dict[str, KnownBug]:
    """Returns the known bugs of the suite by their ids. Those of others are not loaded."""
    return {one.id: one for point in own_points(KNOWN_BUGS) for one in point.load()}


def find(
    name: str,
    limits: Limits = USUAL,
    against: str | None = None,
    in_process: bool = False,
    components: Components = COMPONENTS,
) -> Implementation:
    """Returns the implementation of a name: in a worker, unless it is the suite's own or `in_process` is asked for.

    `against`: the name of a baseline that it will be compared with. If one of the two needs a worker, both are in it.

    Raises: UnusableImplementation.
    """
    if in_process or os.name != "posix" or all(is_ours(one) for one in (name, against) if one is not None):
        implementation = find_implementation(name)
        implementation.limit(limits)
        return implementation
    return Apart(name, limits, against, components)


class Apart(Implementation):
    """An implementation in a worker. The driver knows what it claims, and cannot make its ports."""

    def __init__(
        self, name: str, limits: Limits = USUAL, against: str | None = None, components: Components = COMPONENTS
    ) -> None:
        """Raises: UnusableImplementation, also if its process ends while it is made."""
        hello = ("hello", name, against or "", components.where, limits)
        self._relay = relay = Relay(name)
        self._worker = LastingWorker(lambda: Worker(hello, limits, components, relay), name)
        described = self._worker.hello
        self.name = described.name
        self.version = described.version
        self._capabilities: frozenset[Capability] = described.capabilities
        self._offered: tuple[str, ...] = described.components
        self.starts_programs: bool = described.starts_programs

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the implementation claims."""
        return self._capabilities

    def components(self) -> Mapping[str, Factory]:
        """What the implementation offers. The factories make nothing in this process."""
        return dict.fromkeys(self._offered, _elsewhere)

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
        self._relay.finish()

    def ask(
        self,
        *request: Any,
        told: Told | None = None,
        heard: Callable[[Entry], None] | None = None,
        interruption: Interruption = NEVER,
    ) -> Any:
        """Let a worker serve a request; start a new one if the last one has ended.

        Raises: Ended, also if no worker can be started any more; UnusableImplementation; WorkerFailed.
        """
        return self._worker.ask(*request, told=told, heard=heard, interruption=interruption)

    def run(self, program: Program, scenario: Scenario, with_log: bool = True) -> Run:
        """Returns the result of running a scenario. If the process ends in it, that is its violation."""
        run = Run(None, 0, None)
        try:
            ran = self.ask("run", scenario, program.capabilities)
        except Ended as ended:
            run.violation = violation_of(program, ended, with_log)
            run.performed = list(_performed(ended))
        else:
            run.performed = [tuple(step) for step in ran.performed]
            run.violation = violation(program, ran.failed)
        return run


def _elsewhere(config: Any) -> NoReturn:
    raise PortError(ErrorKind.STATE, "this implementation runs in another process")


def _performed(ended: Ended) -> Iterable[Any]:
    return () if ended.position.scenario is None else ended.position.scenario.steps


def _broken(component: Component, ended: Ended, with_log: bool) -> tuple[Broken, tuple[Any, ...]]:
    """Returns how the operation in flight broke its promise when its process ended, and the step."""
    position = ended.position
    observed = f"{ended.what} ({position.place(component)}){ended.log if with_log else ''}"
    return Broken(ended.failure_class, OWED, observed), position.operation(component)


def violation_of(program: Program, ended: Ended, with_log: bool = True) -> Violation:
    """Returns the end of a process as a violation by the operation that was in flight.

    Without the log, it is the same wherever it happens. A log may hold addresses and times.
    """
    return Violation(program.answers, *_broken(program.component, ended, with_log))


def failure_of(component: Component, ended: Ended, with_log: bool = True) -> tuple[Signature, Failure]:
    """Returns the end of a process as a failure that a tally can count. `with_log`: see `violation_of`."""
    broken, step = _broken(component, ended, with_log)
    scenario = ended.position.scenario or Scenario(component.name, component.configs[0], ())
    return (ANSWERS, broken.failure_class.value, str(step[0])), Failure(scenario, broken.owed, broken.observed)


def violation(program: Program, failed: tuple[str, Broken, tuple[Any, ...]] | None) -> Violation | None:
    """Returns the violation that a worker reported, with the property of this process."""
    if failed is None:
        return None
    slug, broken, step = failed
    judged = program.properties[program.places[slug]] if slug in program.places else program.answers
    return Violation(judged, broken, step)
