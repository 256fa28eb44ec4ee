"""What `conformance doctor` asks of a program: the greeting, and how it takes what makes no sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import Struct

from conformance.bridges.jsonl.client import Client
from conformance.bridges.jsonl.protocol import Call, Greeting, OneOutcome, Open, Opened, Refused, encode
from conformance.bridges.jsonl.remote import CONFIGS, PORTS
from conformance.ports import (
    Capability,
    ChainConfig,
    ChannelKind,
    Examined,
    GateConfig,
    PortError,
    UnionGateConfig,
)

UNKNOWN = "frobnicate"
"""No method, no component and no field has this name."""
_ONE = (ChannelKind.REMOTE,)
_EXAMPLES: dict[str, Struct] = {
    "gate": GateConfig(_ONE),
    "union-gate": UnionGateConfig((GateConfig(_ONE),)),
    "chain": ChainConfig(_ONE),
}
_REFUSE = 'Answer {"type":"error","reason":…} to a request that makes no sense, and wait for the next one.'


def examine(client: Client) -> Iterator[Examined]:
    """What is wrong with a program before anything is tested. Stops where going on would say nothing new."""
    greeting = client.greeting
    yield from _greeting(greeting)
    component = next((one for one in greeting.components if one in PORTS), None)
    if component is None:
        return
    try:
        for one in _requests(client, component):
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


def _greeting(greeting: Greeting) -> Iterator[Examined]:
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
    if unknown := [one for one in greeting.components if one not in PORTS]:
        found = f"It offers what this suite does not know, and will not ask for: {', '.join(unknown)}."
        meant = _meant(unknown, list(PORTS))
        if meant or len(unknown) == len(greeting.components):
            yield Examined("components", found, f"Correct the names.{meant} Known are {', '.join(PORTS)}.")
        else:
            yield Examined("components", found, noted=True)
    elif not greeting.components:
        yield Examined("components", "It offers none.", f'Name some in "hello". Known are {", ".join(PORTS)}.')


def _meant(unknown: Sequence[str], known: Sequence[str]) -> str:
    close = {one: get_close_matches(one, known, 1) for one in unknown}
    return "".join(f" Is {one} meant to be {match[0]}?" for one, match in close.items() if match)


def _requests(client: Client, component: str) -> Iterator[Examined]:
    """What is wrong with the answers. Raises: PortError."""
    config = msgspec.to_builtins(_EXAMPLES.get(component) or CONFIGS[component]())
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


def _shown(message: Any) -> str:
    return encode(message).decode().strip()
