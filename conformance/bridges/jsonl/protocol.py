"""The messages of the JSON Lines protocol, version 4. docs/jsonl-protocol.md describes them."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from conformance.bridges.jsonl.strict import strict
from conformance.ports import Interfaces, Outcome
from conformance.ports.signatures import answer_type, operand_types, operations
from conformance.scenarios.reading import decode_json

PROTOCOL = 4
NEW_IN_THIS_PROTOCOL = "`fault` has a third argument (`nth`), which says which call at the place is to fail"
"""What has changed since the protocol before this one, for the message to a program that speaks that one."""


class Hello(Struct, frozen=True, forbid_unknown_fields=True, tag="hello"):
    """The first request. `protocol` is the version that the suite speaks, `suite` its own version, for the log."""

    protocol: int
    suite: str


class Open(Struct, frozen=True, forbid_unknown_fields=True, tag="open"):
    """Make a fresh object, and drop the one that was open before."""

    component: str
    config: Any


class Call(Struct, frozen=True, forbid_unknown_fields=True, tag="call"):
    """Perform one operation: the name of a port method, then its arguments."""

    call: tuple[Any, ...]


class Resume(Struct, frozen=True, forbid_unknown_fields=True, tag="resume"):
    """Continue the operation that answered `blocked` with this token, after an outcome listed it as `ready`."""

    token: int


class RunScenario(Struct, frozen=True, forbid_unknown_fields=True, tag="scenario"):
    """Perform all these calls; the call `new` makes a fresh object."""

    component: str
    config: Any
    calls: tuple[tuple[Any, ...], ...]


class Close(Struct, frozen=True, forbid_unknown_fields=True, tag="close"):
    """Answer `closed`, and exit."""


class Greeting(Struct, frozen=True, forbid_unknown_fields=True, tag="hello"):
    """What the program is, what it can do, and which components it offers."""

    protocol: int
    name: str
    version: str
    capabilities: tuple[str, ...]
    components: tuple[str, ...]


class Opened(Struct, frozen=True, forbid_unknown_fields=True, tag="opened"):
    """The program has made the object."""


class StrictOutcome(Outcome, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An outcome as a program may write it; an unknown field is an error, so that a misspelt `value` is noticed. So is
    one inside of a value, of a signal or of an error."""

    blocked: int | None = None
    """The operation waits; the suite continues it with `resume` and this token."""
    ready: tuple[int, ...] = ()
    """The tokens of operations that need not wait any longer; each token is listed once."""

    def __post_init__(self) -> None:
        if (self.value is not None) + (self.error is not None) + (self.blocked is not None) > 1:
            raise ValueError("An outcome has a value, an error or `blocked`: one of them at most")


class Outcomes(Struct, frozen=True, forbid_unknown_fields=True, tag="outcomes"):
    """The outcomes of a scenario, one for each call."""

    outcomes: tuple[StrictOutcome, ...]


class OneOutcome(Struct, frozen=True, forbid_unknown_fields=True, tag="outcome"):
    """The outcome of one call."""

    outcome: StrictOutcome


class Closed(Struct, frozen=True, forbid_unknown_fields=True, tag="closed"):
    """The program exits now."""


class Refused(Struct, frozen=True, forbid_unknown_fields=True, tag="error"):
    """The program does not understand the request, or cannot perform it at all."""

    reason: str


Request: TypeAlias = Hello | Open | Call | Resume | RunScenario | Close
Reply: TypeAlias = Greeting | Opened | OneOutcome | Outcomes | Closed | Refused

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)
_strict_replies: msgspec.json.Decoder[Any] = msgspec.json.Decoder(strict(OneOutcome | Outcomes))


def encode(message: Request | Reply) -> bytes:
    """A message as one line, with its line feed."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """For programs in Python. Raises: ValueError if it is not JSON, has the wrong shape or exceeds the limits."""
    return decode_json(line, _requests)


def decode_reply(line: bytes) -> Reply:
    """Raises: ValueError if it is not JSON, has the wrong shape, also an unknown field, or exceeds the limits.

    What a value may be depends on the operation: whoever knows that looks for unknown fields in it.
    """
    reply = decode_json(line, _replies)
    if _says_more_than_values(reply):
        decode_json(line, _strict_replies)
    return reply


def _says_more_than_values(reply: Reply) -> bool:
    """Returns whether there are signals or errors in it, which may have unknown fields."""
    outcomes = (
        (reply.outcome,) if isinstance(reply, OneOutcome) else reply.outcomes if isinstance(reply, Outcomes) else ()
    )
    return any(one.signals or one.error is not None for one in outcomes)


def spoken(interfaces: Interfaces) -> Iterator[Any]:
    """The type of every configuration, operand and answer; some come more than once."""
    for port, config in interfaces.values():
        yield config
        for one in operations(port):
            yield from operand_types(getattr(port, one)).values()
            yield answer_type(getattr(port, one))


def schema(interfaces: Interfaces) -> dict[str, Any]:
    """The JSON Schema of both directions, and of everything that calls and values are made of."""
    (request, reply, *_), components = msgspec.json.schema_components(
        [strict(one) for one in (Request, Reply, *dict.fromkeys(spoken(interfaces)))], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Checkpoint conformance over JSON Lines, protocol {PROTOCOL}",
        "oneOf": [{"title": "request", **request}, {"title": "reply", **reply}],
        "$defs": {name: _described(one) for name, one in components.items()},
    }


def _described(node: Any) -> Any:
    """Descriptions without the indentation of the source, which Python keeps until 3.12."""
    if isinstance(node, dict):
        return {
            key: cleandoc(value) if key == "description" and isinstance(value, str) else _described(value)
            for key, value in node.items()
        }
    return [_described(one) for one in node] if isinstance(node, list) else node
