"""Any implementation in Python as a program behind the protocol: `python -m conformance.bridges.jsonl serve NAME`.

An implementation in Python needs no protocol. This program exists to test the bridge: the reference must have the same
outcomes behind the protocol as without it, also in operations that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, BinaryIO

import msgspec

from conformance.bridges.jsonl.protocol import (
    PROTOCOL,
    Call,
    Close,
    Closed,
    Greeting,
    Hello,
    OneOutcome,
    Open,
    Opened,
    Outcomes,
    Refused,
    Reply,
    Request,
    Resume,
    RunScenario,
    StrictOutcome,
    decode_request,
    encode,
)
from conformance.bridges.jsonl.remote import operands
from conformance.ports import (
    INTERFACES,
    Capability,
    Error,
    ErrorKind,
    Implementation,
    Interfaces,
    Port,
    PortError,
)
from conformance.ports.implementation import NEW
from conformance.scheduling import LockOrder, Thread, Waitable


class Server:
    """Answers requests about the ports of one implementation. At most one port is open."""

    def __init__(self, implementation: Implementation, interfaces: Interfaces) -> None:
        self._implementation = implementation
        self._interfaces = interfaces
        offered = implementation.components()
        self._components = {name: offered[name] for name in interfaces if name in offered}
        self._component = ""
        self._port: Port | None = None
        self._waiting: dict[int, _Operation] = {}
        self._tokens = 0

    def answer(self, request: Request) -> Reply:
        """The answer to one request."""
        match request:
            case Hello(protocol=protocol):
                return self._greet(protocol)
            case Open(component=component, config=config):
                return self._answered(lambda: self._open(component, config), Opened())
            case Call(call=call):
                return self._one(lambda: self._call(call))
            case Resume(token=token):
                return self._one(lambda: self._resume(token))
            case RunScenario(component=component, config=config, calls=calls):
                return self._scenario(component, config, calls)
            case Close():
                return Closed()

    def _greet(self, protocol: int) -> Reply:
        if protocol != PROTOCOL:
            return Refused(f"this program speaks protocol {PROTOCOL}, not {protocol}")
        mine = self._implementation
        claims = mine.capabilities - {Capability.STEPPING}  # over a wire an operation pauses only where it must wait
        return Greeting(PROTOCOL, mine.name, mine.version, tuple(sorted(claims)), tuple(self._components))

    def _answered(self, action: Callable[[], None], reply: Reply) -> Reply:
        try:
            action()
        except _Senseless as error:
            return Refused(str(error))
        return reply

    def _one(self, action: Callable[[], StrictOutcome]) -> Reply:
        try:
            return OneOutcome(action())
        except _Senseless as error:
            return Refused(str(error))

    def _scenario(self, component: str, config: Any, calls: tuple[tuple[Any, ...], ...]) -> Reply:
        outcomes = []
        self._port = None  # the first call of a scenario makes another port
        try:
            for call in calls:
                if call[:1] == (NEW,):
                    self._open(component, call[1] if len(call) > 1 else config)
                    outcomes.append(StrictOutcome())
                else:
                    outcomes.append(self._call(call))
        except _Senseless as error:
            return Refused(str(error))
        return Outcomes(tuple(outcomes))

    def _open(self, component: str, config: Any) -> None:
        factory = self._components.get(component)
        if factory is None:
            raise _Senseless(f"there is no component {component!r}")
        for operation in self._waiting.values():
            operation.coroutine.close()
        self._waiting.clear()
        self._component, self._port = component, None
        made_from = _converted(config, self._interfaces[component].config, "the configuration")
        try:
            self._port = factory(made_from)
        except Exception as error:
            raise _Senseless(f"no {component} can be made: {type(error).__name__}: {error}") from None

    def _call(self, call: tuple[Any, ...]) -> StrictOutcome:
        if self._port is None:
            raise _Senseless("no object is open")
        name = call[0] if call and isinstance(call[0], str) else ""
        expected = operands(self._interfaces[self._component]).get(name)
        if expected is None:
            raise _Senseless(f"a {self._component} has no operation {call[:1]}")
        if len(call) - 1 != len(expected):
            raise _Senseless(f"{call[0]} has {len(expected)} operands, not {len(call) - 1}")
        given = [_converted(one, type_, call[0]) for one, type_ in zip(call[1:], expected, strict=True)]
        try:
            value = getattr(self._port, call[0])(*given)
            if type(value) is not CoroutineType:
                return self._over(value)
        except Exception as error:
            return self._over(error=error)
        return self._advance(_Operation(value))

    def _resume(self, token: int) -> StrictOutcome:
        operation = self._waiting.pop(token, None)
        if operation is None or not operation.waits_for.ready():
            raise _Senseless(f"no operation with the token {token} is ready")
        operation.waits_for.grant(operation.thread)
        return self._advance(operation)

    def _advance(self, operation: _Operation) -> StrictOutcome:
        try:
            while True:
                at = operation.coroutine.send(None)
                if not at.ready():
                    break
                at.grant(operation.thread)
        except StopIteration as end:
            return self._over(end.value)
        except Exception as error:
            return self._over(error=error)
        operation.waits_for = at
        operation.told = False
        self._tokens += 1
        self._waiting[self._tokens] = operation
        return self._over(blocked=self._tokens)

    def _over(self, value: Any = None, error: Exception | None = None, blocked: int | None = None) -> StrictOutcome:
        assert self._port is not None
        signals = tuple(self._port.signals)
        self._port.signals.clear()
        ready = tuple(token for token, one in self._waiting.items() if not one.told and one.waits_for.ready())
        for token in ready:
            self._waiting[token].told = True
        told = None if error is None else _told(error)
        return StrictOutcome(value, signals, told, blocked=blocked, ready=ready)


def _encoded(reply: Reply) -> bytes:
    try:
        return encode(reply)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return encode(Refused(f"the answer cannot be written as JSON: {error}"))


class _Operation:
    """An operation that waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine
        self.thread = Thread("", LockOrder())
        self.waits_for: Waitable = Waitable("")
        self.told = False
        """Whether an outcome has listed it as ready."""


class _Senseless(Exception):
    """A request that is wrong, and is answered with `Refused`."""


def _converted(value: Any, type_: Any, what: str) -> Any:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise _Senseless(f"{what}: {error}") from None


def _told(error: Exception) -> Error:
    if isinstance(error, PortError):
        return Error(error.kind, error.reason, error.checkpoint_reason)
    return Error(ErrorKind.CRASHED, f"{type(error).__name__}: {error}")


def serve(
    implementation: Implementation, requests: BinaryIO, answers: BinaryIO, interfaces: Interfaces = INTERFACES
) -> None:
    """Answers requests until `close` or the end of `requests`."""
    server = Server(implementation, interfaces)
    for line in requests:
        try:
            reply = server.answer(decode_request(line))
        except ValueError as error:
            reply = Refused(str(error))
        answers.write(_encoded(reply))
        answers.flush()
        if isinstance(reply, Closed):
            return
