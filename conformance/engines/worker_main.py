"""The process that runs an implementation for a driver: it answers requests until it is asked to close (see `worker`).

A request is the name of a method of the service and its arguments.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from conformance.driver import Components, Program, Violation, find_components, run_scenario
from conformance.engines.check import Found, reduce_failures, search_range
from conformance.engines.corpus import replay_corpus
from conformance.engines.divergence import Comparison, Differ, Seen
from conformance.engines.explain import explain
from conformance.engines.position import Followed, Writer
from conformance.engines.related import Link, Relations, links
from conformance.engines.replay import replay
from conformance.engines.tally import Failure, Signature, Tally
from conformance.engines.transcribe import transcribe
from conformance.engines.wire import Wire
from conformance.engines.worker import BASELINE, TESTED, Described, Failed, Ran, Replayed
from conformance.ports import (
    Capability,
    Implementation,
    Limits,
    OversizedTranscript,
    Transcript,
    UnusableImplementation,
    find_implementation,
)
from conformance.ports.registry import offered_components
from conformance.scenarios import Entry, Scenario
from conformance.system.garbage import spare_what_is_loaded
from conformance.system.writing import told_by

Assumed = frozenset[Capability]


class Service(Protocol):
    """Serves requests. Each method but `close` serves the request of its name."""

    wire: Wire

    def close(self) -> None:
        """The driver needs this process no more."""


class _Service:
    """Each method serves the request of its name."""

    def __init__(self, writer: Writer, replies: int) -> None:
        self.wire = Wire()
        self._writer = writer
        self._replies = replies
        self._against = ""
        self._baseline: Implementation | None = None

    def hello(self, name: str, against: str, components: str, limits: Limits) -> Described:
        self._components: Components = find_components(components)
        self.wire = Wire(self._components)
        self._implementation = found = self._found(name, limits)
        if against:
            self._against, self._baseline = against, self._found(against, limits)
        offered = tuple(sorted(offered_components(found)))
        return Described(found.name, found.version, found.capabilities, offered, found.batch is not None)

    def _found(self, name: str, limits: Limits) -> Implementation:
        implementation = find_implementation(name)
        implementation.limit(limits)
        return implementation

    def _program(self, component: str, assumed: Assumed) -> Program:
        program = Program(self._components[component], self._implementation, assumed)
        program.log = Followed(self._writer, program, TESTED)
        return program

    def _differ(self, program: Program, assumed: Assumed, seen: Seen | None) -> Differ | None:
        if seen is None or self._baseline is None:
            return None
        differ = Differ(self._against, self._baseline, program, assumed)
        differ.follow(lambda baseline: Followed(self._writer, baseline, BASELINE))
        if not differ.seen.reason:
            differ.replace(seen)
        return differ

    def corpus(
        self, component: str, assumed: Assumed, numbers: range, spent: Iterable[str]
    ) -> dict[Signature, Failure]:
        return replay_corpus(self._program(component, assumed), self._writer.numbers(numbers), spent)

    def search(
        self, component: str, assumed: Assumed, seed: str, numbers: range, spent: Iterable[str], seen: Seen | None
    ) -> tuple[Tally, Seen | None]:
        program = self._program(component, assumed)
        differ = self._differ(program, assumed, seen)
        tally = search_range(program, seed, self._writer.numbers(numbers), None, spent, differ)
        return tally, None if differ is None else differ.seen

    def hypothesis(
        self, component: str, assumed: Assumed, scenarios: int, seed: str, seen: Seen | None
    ) -> tuple[Tally, tuple[Found, ...], Comparison | None]:
        program = self._program(component, assumed)
        differ = self._differ(program, assumed, seen)
        from conformance.engines.hypothesis_check import check_with_hypothesis  # takes a while to load

        check = check_with_hypothesis(program, scenarios, seed, self._writer.number, differ, self._writer)
        return check.tally, check.found, check.comparison

    def reduce(self, component: str, assumed: Assumed, tally: Tally, budget: int) -> tuple[Found, ...]:
        return reduce_failures(self._program(component, assumed), tally, budget, self._writer)

    def conclude(self, component: str, assumed: Assumed, seen: Seen) -> Comparison:
        differ = self._differ(self._program(component, assumed), assumed, seen)
        assert differ is not None
        return differ.conclude(self._writer)

    def explain(self, scenario: Scenario, assumed: Assumed) -> tuple[str, ...]:
        return explain(self._program(scenario.component, assumed), scenario)

    def links(self, component: str, assumed: Assumed, found: tuple[Found, ...]) -> tuple[Link, ...]:
        return links(Relations(self._program(component, assumed), found))

    def transcribe(self, scenario: Scenario, assumed: Assumed) -> Transcript | OversizedTranscript | None:
        return transcribe(self._program(scenario.component, assumed), scenario)

    def run(self, scenario: Scenario, assumed: Assumed) -> Ran:
        run = run_scenario(self._program(scenario.component, assumed), scenario.config, scenario.steps)
        return Ran(tuple(run.performed), _failed(run.violation))

    def replay(self, scenario: Scenario, assumed: Assumed) -> Replayed:
        def follow(program: Program) -> None:
            log = Followed(self._writer, program, TESTED)
            log.streamed = _Sent(self.wire, self._replies)
            program.log = log

        seen = replay(scenario, self._implementation, assumed, self._components, follow)
        return Replayed(seen.verdict.value, seen.reason, _failed(seen.violation))

    def close(self) -> None:
        for one in (self._implementation, self._baseline):
            if one is not None:
                one.close()


class _Sent(list[Entry]):
    """Entries that are sent to the driver as soon as they are appended."""

    def __init__(self, wire: Wire, replies: int) -> None:
        super().__init__()
        self._wire = wire
        self._replies = replies

    def append(self, entry: Entry) -> None:
        super().append(entry)
        self._wire.write(self._replies, ("entry", entry))


def _failed(violation: Violation | None) -> Failed | None:
    return None if violation is None else (violation.property.slug, violation.broken, violation.step)


def _refused(error: Exception) -> tuple[str, Any] | None:
    """Returns the reply for an error that says that the machine refused to write; None for another one."""
    refused = told_by(error)
    if refused is None:
        return None
    return "unwritten", (refused.errno, refused.strerror, str(refused.path), refused.needed, refused.remedy)


def serve(arguments: Sequence[str], make: Callable[[Writer, int], Service]) -> None:
    """Serve requests. The arguments are three descriptors: of requests, of replies and of the shared memory."""
    requests, replies, memory = map(int, arguments)
    for descriptor in (requests, replies, memory):
        os.set_inheritable(descriptor, False)  # a program that the implementation starts has no part in this
    writer = Writer(memory)
    service = make(writer, replies)
    while True:
        try:
            name, *rest = service.wire.read(requests)
        except EOFError:
            name, rest = "close", []
        writer.begin(b"")  # no run has begun since the last request
        writer.number(-1)
        try:
            result = getattr(service, name)(*rest)
        except UnusableImplementation as error:
            service.wire.write(replies, ("unusable", str(error)))
        except Exception as error:
            if name != "close":
                service.wire.write(replies, _refused(error) or ("failed", traceback.format_exc()))
        else:
            if name == "hello":  # the implementation and the components are loaded
                spare_what_is_loaded()
            if name != "close":
                service.wire.write(replies, ("done", result))
        if name == "close":
            with suppress(OSError):
                sys.stdout.flush()
            return


def main() -> None:
    """Serve the requests of a search."""
    serve(sys.argv[1:], _Service)
