"""An implementation that runs in a worker process, and what becomes of a search when that process ends.

Implementations that are not the suite's own are run in this way, so that nothing that they do can end or stall the
search, or use up the memory of the machine. Its own ones run in the process of the driver, as quickly as ever.
A program behind a wire is in a process of its own anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

from conformance.components import COMPONENTS
from conformance.driver import Broken, Components, FailureClass, Program, Run, Violation
from conformance.engines.position import NOWHERE
from conformance.engines.tally import Failure, Signature
from conformance.engines.worker import Ended, Told, Worker
from conformance.ports import (
    Capability,
    ErrorKind,
    Implementation,
    Limits,
    PortError,
    UnusableImplementation,
    find_implementation,
)
from conformance.ports.implementation import Factory
from conformance.ports.registry import (
    IMPLEMENTATIONS,
    KNOWN_BUG_SCHEME,
    KNOWN_BUGS,
    LEGAL_VARIANT_SCHEME,
    LEGAL_VARIANTS,
)
from conformance.scenarios import Entry, Scenario

_SUITE = "checkpoint-conformance"
OWED = "every operation must answer, and leave its process alone"
USUAL = Limits()


def is_ours(name: str) -> bool:
    """Returns whether the code that this name loads is the suite's own. A program that it starts need not be."""
    for scheme, group in ((KNOWN_BUG_SCHEME, KNOWN_BUGS), (LEGAL_VARIANT_SCHEME, LEGAL_VARIANTS)):
        if name.startswith(scheme):
            return any(one.id == name.removeprefix(scheme) for point in _ours(group) for one in point.load())
    return re.split("[@:]", name, maxsplit=1)[0] in {point.name for point in _ours(IMPLEMENTATIONS)}


def _ours(group: str) -> list[EntryPoint]:
    return [one for one in entry_points(group=group) if one.dist is not None and _normal(one.dist.name) == _SUITE]


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


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
        self._hello = ("hello", name, against or "", components.where, limits)
        self._limits = limits
        self._components = components
        self._worker: Worker | None = None
        self._running()
        assert self._worker is not None
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
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def ask(self, *request: Any, told: Told | None = None, heard: Callable[[Entry], None] | None = None) -> Any:
        """Let a worker serve a request; start a new one if the last one has ended.

        Raises: Ended, also if no worker can be started any more; UnusableImplementation; WorkerFailed.
        """
        return self._running().ask(*request, told=told, heard=heard)

    def run(self, program: Program, scenario: Scenario) -> Run:
        """Returns the result of running a scenario. If the process ends in it, that is its violation."""
        run = Run(None, 0, None)
        try:
            ran = self.ask("run", scenario, program.capabilities)
        except Ended as ended:
            run.violation = violation_of(program, ended)
            run.performed = list(_performed(ended))
        else:
            run.performed = [tuple(step) for step in ran.performed]
            run.violation = violation(program, ran.failed)
        return run

    def _running(self) -> Worker:
        if self._worker is not None and self._worker.is_usable:
            return self._worker
        again = self._worker is not None
        if self._worker is not None:
            self._worker.kill()
        try:
            self._worker = Worker(self._hello, self._limits, self._components)
        except UnusableImplementation as error:
            if again:
                raise Ended(f"it could not be made again: {error}", "", FailureClass.CRASHED, NOWHERE) from None
            raise
        except Ended as ended:
            if again:
                raise
            raise UnusableImplementation(
                f"{self._hello[1]}: when it was loaded and made, {ended.what}{ended.log}. It was given a process "
                "of its own, which must go on until the suite ends it."
            ) from None
        return self._worker


def _elsewhere(config: Any) -> NoReturn:
    raise PortError(ErrorKind.STATE, "this implementation runs in another process")


def _performed(ended: Ended) -> Iterable[Any]:
    return () if ended.position.scenario is None else ended.position.scenario.steps


def violation_of(program: Program, ended: Ended) -> Violation:
    """Returns the end of a process as a violation by the operation that was in flight."""
    position = ended.position
    observed = f"{ended.what} ({position.place(program.component)}){ended.log}"
    steps = (*_performed(ended), *(position.drained or ()))
    step = (position.operation(program.component), *(steps[-1][1:] if steps else ()))
    return Violation(program.answers, Broken(ended.failure_class, OWED, observed), step)


def failure_of(program: Program, ended: Ended) -> tuple[Signature, Failure]:
    """Returns the end of a process as a failure that a tally can count."""
    found = violation_of(program, ended)
    scenario = ended.position.scenario
    if scenario is None:
        scenario = Scenario(program.component.name, program.configs[0], ())
    return found.signature, Failure(scenario, found.broken.owed, found.broken.observed)


def violation(program: Program, failed: tuple[str, Broken, tuple[Any, ...]] | None) -> Violation | None:
    """Returns the violation that a worker told, with the property of this process."""
    if failed is None:
        return None
    slug, broken, step = failed
    judged = program.properties[program.places[slug]] if slug in program.places else program.answers
    return Violation(judged, broken, step)
