"""What `conformance doctor` asks of a program: the greeting, and how it takes what makes no sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from conformance.bridges.jsonl.client import Client
from conformance.bridges.jsonl.protocol import Call, Greeting, OneOutcome, Open, Opened, Refused, encode
from conformance.ports import Capability, Examined, Interfaces, PortError

UNKNOWN = "frobnicate"
"""No method, no component and no field has this name."""
_REFUSE = 'Answer {"type":"error","reason":…} to a request that makes no sense, and wait for the next one.'


def examine(client: Client, interfaces: Interfaces) -> Iterator[Examined]:
    """What is wrong with a program before anything is tested. Stops where going on would say nothing new."""
    greeting = client.greeting
    yield from _greeting(greeting, tuple(interfaces))
    component = next((one for one in greeting.components if one in interfaces), None)
    if component is None:
        return
    try:
        for one in _requests(client, component, interfaces[component].config):
            yield one
            return
    except PortError as error:
        yield Examined("requests", f"{error.reason[0].upper()}{error.reason[1:]}.", _REFUSE)
        return
    yield Examined("requests", "An unknown method, component or field is refused, and it goes on after that.")
    if wrong := client.close():
        yield Examined(
            "close", f"The program {wrong}.", 'Answer {"type":"closed"} to "close", then exit with status 0.'
        )


def _greeting(greeting: Greeting, known: Sequence[str]) -> Iterator[Examined]:
    offered = ", ".join(greeting.components) or "nothing"
    if not greeting.name:
        yield Examined("greeting", "The program has no name.", 'Answer "hello" with a "name"; reports need it.')
    else:
        who = f"{greeting.name} {greeting.version}".rstrip()
        yield Examined("greeting", f"{who} speaks protocol {greeting.protocol} and offers {offered}.")
    if not greeting.version:
        yield Examined("greeting", 'It has no "version"; reports would be clearer with one.', noted=True)
    if unknown := [one for one in greeting.capabilities if one not in set(Capability)]:
        yield Examined(
            "capabilities",
            f"It claims what this suite does not know: {', '.join(unknown)}.",
            f'Correct the answer to "hello".{_meant(unknown, list(Capability))} Known are {", ".join(Capability)}.',
        )
    if Capability.STEPPING in greeting.capabilities:
        yield Examined(
            "capabilities", "It claims stepping. Over a wire operations are left only where they wait.",
            'Leave "stepping" out of the answer to "hello".',
        )  # fmt: skip
    if unknown := [one for one in greeting.components if one not in known]:
        found = f"It offers what this suite does not know, and will not ask for: {', '.join(unknown)}."
        meant = _meant(unknown, known)
        if meant or len(unknown) == len(greeting.components):
            yield Examined("components", found, f"Correct the names.{meant} Known are {', '.join(known)}.")
        else:
            yield Examined("components", found, noted=True)
    elif not greeting.components:
        yield Examined("components", "It offers none.", f'Name some in "hello". Known are {", ".join(known)}.')


def _meant(unknown: Sequence[str], known: Sequence[str]) -> str:
    close = {one: get_close_matches(one, known, 1) for one in unknown}
    return "".join(f" Is {one} meant to be {match[0]}?" for one, match in close.items() if match)


def _requests(client: Client, component: str, config_type: type[Struct]) -> Iterator[Examined]:
    """What is wrong with the answers. Raises: PortError."""
    config = msgspec.to_builtins(_example(config_type))
    good = Open(component, config)
    nonsense = {**config, UNKNOWN: 1}

    def opened(when: str) -> Iterator[Examined]:
        reply = client.reply(good)
        if not isinstance(reply, Opened):
            cure = f"Make a fresh {component} of every configuration on the page of the protocol, and answer opened."
            yield Examined("requests", f"{_shown(good)} {when} was answered with {_shown(reply)}.", cure)

    asked: tuple[tuple[str, Any, str], ...] = (
        (
            "a method that does not exist",
            Call((UNKNOWN,)),
            "An operation that does not exist must not seem to be done.",
        ),
        ("a component that does not exist", Open(UNKNOWN, {}), "The wrong object must not be tested."),
        ("a field that does not exist", Open(component, nonsense), "A setting must not be ignored in silence."),
    )
    yield from opened("at first")
    for what, message, why in asked:
        reply = client.reply(message)
        failed = isinstance(reply, OneOutcome) and reply.outcome.error is not None
        if not (isinstance(reply, Refused) or failed):
            found = f"{what[0].upper()}{what[1:]}: {_shown(message)} was answered with {_shown(reply)}."
            yield Examined("requests", found, f"{_REFUSE} {why}")
        yield from opened(f"after {what}")


def _example(type_: Any) -> Any:
    """A plain value of a type: of a struct what it cannot be made without, of a list one element."""
    if get_origin(type_) is tuple:
        return tuple(_example(one) for one in get_args(type_) if one is not ...)
    if variants := get_args(type_):
        return _example(variants[0])
    if issubclass(type_, Struct):
        return type_(**{one.name: _example(one.type) for one in fields(type_) if one.required})
    return next(iter(type_)) if issubclass(type_, Enum) else type_()


def _shown(message: Any) -> str:
    return encode(message).decode().strip()
