"""A program behind the protocol as an `Implementation`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, ClassVar

from conformance.bridges.jsonl.client import Client
from conformance.bridges.jsonl.examine import examine
from conformance.bridges.jsonl.protocol import Call, OneOutcome, Open, Outcomes, Resume, RunScenario, StrictOutcome
from conformance.bridges.jsonl.remote import RemotePort, convert_outcomes, remote_port
from conformance.ports import (
    INTERFACES,
    Batch,
    Capability,
    ErrorKind,
    Examined,
    Implementation,
    Interfaces,
    Limits,
    Outcome,
    OversizedTranscript,
    Port,
    PortError,
    Transcript,
    UnusableImplementation,
)
from conformance.ports.implementation import NEW, Factory
from conformance.ports.registry import check_can_be_read


class JsonLinesImplementation(Implementation):
    """Any program that speaks the protocol. It is started when it is first needed, and at most one process of it runs.

    The program holds one object at a time: a port cannot be used any more once the next one is made.

    Everything but the constructor raises UnusableImplementation if the program cannot be used.
    """

    exit_statuses: ClassVar[Mapping[int, str]] = {}
    """What exit statuses of the program mean, for messages."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout_seconds: float = 20.0,
        start_seconds: float = 60.0,
        interfaces: Interfaces = INTERFACES,
    ) -> None:
        """`interfaces`: the components that the suite knows; it ignores other components that the program offers."""
        self._interfaces = interfaces
        self._command = tuple(command)
        self._timeout_seconds = timeout_seconds
        self._start_seconds = start_seconds
        self._most_memory = Limits().memory_mib << 20
        self._current: RemotePort | None = None

    def command(self) -> tuple[str, ...]:
        """The program and its arguments; called once, before the program is started for the first time."""
        return self._command

    @cached_property
    def client(self) -> Client:
        """Starts the program and sends it requests."""
        return Client(
            self.command(),
            timeout_seconds=self._timeout_seconds,
            start_seconds=self._start_seconds,
            exit_statuses=self.exit_statuses,
            most_memory=self._most_memory,
        )

    @cached_property
    def name(self) -> str:  # type: ignore[override]  # requested once, then an attribute, as in the interface
        name = self.client.greeting.name
        check_can_be_read(name, "the name with which the program greets")
        return name

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        version = self.client.greeting.version
        check_can_be_read(version, "the version with which the program greets")
        return version

    @property
    def capabilities(self) -> frozenset[Capability]:
        claimed = set(self.client.greeting.capabilities)
        if unknown := sorted(claimed - set(Capability)):
            raise UnusableImplementation(
                f"{self.name} claims capabilities that this suite does not know: {', '.join(unknown)}. Correct the "
                f"answer to hello, or use a newer suite. Known are {', '.join(Capability)}."
            )
        return frozenset(map(Capability, claimed))

    def components(self) -> Mapping[str, Factory]:
        offered = self.client.greeting.components
        return {name: partial(self._open, name) for name in offered if name in self._interfaces}

    @property
    def batch(self) -> Batch | None:
        return self._run

    @property
    def is_far(self) -> bool:
        return True

    def examine(self) -> Iterable[Examined]:
        return examine(self.client, self._interfaces)

    def transcript(self, run: Callable[[], object]) -> Transcript | OversizedTranscript:
        self._current = None
        with self.client.recording() as record, suppress(UnusableImplementation):
            run()
        self._current = None
        return record.transcript

    def limit(self, limits: Limits) -> None:
        self._timeout_seconds = limits.step_seconds
        self._most_memory = limits.memory_mib << 20

    def close(self) -> None:
        self._current = None
        if "client" in self.__dict__:
            self.client.close()

    def _open(self, component: str, config: Any) -> Port:
        self._current = None
        self.client.request(Open(component, config))
        self._current = port = remote_port(self._interfaces[component], self._ask)
        return port

    def _ask(self, port: RemotePort, what: Call | Resume) -> StrictOutcome:
        if port is not self._current:
            name = what.call[0] if isinstance(what, Call) else "resume"
            if name == "release":
                return StrictOutcome()  # the program dropped it when it made the next one
            raise PortError(ErrorKind.RELEASED, f"{name!r} was called on a port that ended when another one was made")
        reply = self.client.request(what)
        assert isinstance(reply, OneOutcome)
        return reply.outcome

    def _run(self, component: str, config: Any, calls: Sequence[Sequence[Any]]) -> list[Outcome]:
        self._current = None
        sent = tuple((NEW, config) if tuple(call) == (NEW,) else tuple(call) for call in calls)
        reply = self.client.request(RunScenario(component, config, sent))
        assert isinstance(reply, Outcomes)
        if len(reply.outcomes) != len(calls):
            raise PortError(
                ErrorKind.CRASHED, f"answered {len(reply.outcomes)} outcomes to a scenario of {len(calls)} calls"
            )
        return convert_outcomes(self._interfaces[component], calls, reply.outcomes)


def jsonl(argument: str = "") -> Implementation:
    """The implementation `jsonl:COMMAND`, where the command is split as a shell would do.

    Raises: UnusableImplementation if there is no command in it.
    """
    try:
        command = shlex.split(argument)
    except ValueError as error:
        raise UnusableImplementation(f"jsonl:{argument} is not a command: {error}. Check its quotes.") from None
    if not command:
        raise UnusableImplementation(
            "jsonl needs the command of a program that speaks the protocol of docs/jsonl-protocol.md, as in "
            "`--implementation 'jsonl:node adapter.js'`."
        )
    return JsonLinesImplementation(command)
