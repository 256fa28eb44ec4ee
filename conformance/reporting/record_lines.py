"""What the records say that a scenario is about, as people write it: `order 17, 木村 陽一, 3 items`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from conformance.driver import Component
from conformance.ports.framing import Record
from conformance.scenarios import Scenario

MOST = 12
"""How many records are described."""


def record_lines(component: Component, scenario: Scenario) -> tuple[str, ...]:
    """Return a line for each of the first records that the port of a scenario is given, and how many more there are.

    The text follows from the id of a record and is observed by nobody; the key and the size are those of the scenario.
    """
    records = {one.id: one for one in _records(component.port_config(scenario.config))}
    if not records:
        return ()
    from strategies.texts import described  # with Hypothesis and Faker, which most reports do not need

    shown = [records[number] for number in sorted(records)[:MOST]]
    more = len(records) - len(shown)
    lines = [f"{described(one.id)}; key {one.key}, {one.size} bytes" for one in shown]
    return (*lines, f"and {more} more") if more else tuple(lines)


def _records(value: Any) -> Iterator[Record]:
    if isinstance(value, Record):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _records(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _records(one)
    elif isinstance(value, Mapping):
        yield from _records(list(value.values()))
