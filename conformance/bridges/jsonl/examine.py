"""The checks of `conformance doctor` for a program: its greeting, and its answers to wrong requests."""

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
_REFUSE = 'Answer {"type":"error","reason":…} to a wrong request, and wait for the next one.'


def examine(client: Client, interfaces: Interfaces) -> Iterator[Examined]:
    """Checks a program before it is tested. Stops at the first wrong answer, since later ones may follow from it."""
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
    yield Examined(
        "requests", "The program refuses an unknown method, component or field, and answers the next request."
    )
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
        yield Examined("greeting", 'The program has no "version"; reports would be clearer with one.', noted=True)
    if unknown := [one for one in greeting.capabilities if one not in set(Capability)]:
        yield Examined(
            "capabilities",
            f"The program claims capabilities that this suite does not know: {', '.join(unknown)}.",
            f'Correct the answer to "hello".{_meant(unknown, list(Capability))} Known are {", ".join(Capability)}.',
        )
    if Capability.STEPPING in greeting.capabilities:
        yield Examined(
            "capabilities", "It claims stepping, but over this protocol an operation pauses only where it must wait.",
            'Leave "stepping" out of the answer to "hello".',
        )  # fmt: skip
    if unknown := [one for one in greeting.components if one not in known]:
        found = f"The program offers components that this suite does not know and ignores: {', '.join(unknown)}."
        meant = _meant(unknown, known)
        if meant or len(unknown) == len(greeting.components):
            yield Examined("components", found, f"Correct the names.{meant} Known are {', '.join(known)}.")
        else:
            yield Examined("components", found, noted=True)
    elif not greeting.components:
        yield Examined("components", "It offers no component.", f'Name some in "hello". Known are {", ".join(known)}.')


def _meant(unknown: Sequence[str], known: Sequence[str]) -> str:
    close = {one: get_close_matches(one, known, 1) for one in unknown}
    return "".join(f" Is {one} meant to be {match[0]}?" for one, match in close.items() if match)


def _requests(client: Client, component: str, config_type: type[Struct]) -> Iterator[Examined]:
    """Yields what is wrong with the answers to three wrong requests, and to the right one after each.

    Raises: PortError if the program dies or does not answer in time.
    """
    config = msgspec.to_builtins(_example(config_type))
    good = Open(component, config)
    nonsense = {**config, UNKNOWN: 1}

    def opened(when: str) -> Iterator[Examined]:
        reply = client.reply(good)
        if not isinstance(reply, Opened):
            cure = f"Make a fresh {component} of every configuration in docs/jsonl-protocol.md, and answer opened."
            yield Examined("requests", f"{_shown(good)} {when} was answered with {_shown(reply)}.", cure)

    asked: tuple[tuple[str, Any, str], ...] = (
        (
            "a method that does not exist",
            Call((UNKNOWN,)),
            "Otherwise a misspelt operation seems to have been performed.",
        ),
        ("a component that does not exist", Open(UNKNOWN, {}), "Otherwise the suite tests the wrong object."),
        ("a field that does not exist", Open(component, nonsense), "Otherwise the suite tests another configuration."),
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
    """A value of a type: a struct has its required fields only, a list has one element."""
    if get_origin(type_) is tuple:
        return tuple(_example(one) for one in get_args(type_) if one is not ...)
    if variants := get_args(type_):
        return _example(variants[0])
    if issubclass(type_, Struct):
        return type_(**{one.name: _example(one.type) for one in fields(type_) if one.required})
    return next(iter(type_)) if issubclass(type_, Enum) else type_()


def _shown(message: Any) -> str:
    return encode(message).decode().strip()
