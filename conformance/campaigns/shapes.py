"""Makes objects of the suite from what JSON can hold, scenarios included, whose configurations only components know."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
from msgspec import Struct

from conformance.driver import Components
from conformance.scenarios import Scenario


def shaped(data: Any, kind: Any, components: Components) -> Any:
    """Return the object of a type that `msgspec.to_builtins` has turned into `data`.

    Raises: msgspec.ValidationError or KeyError if it is none.
    """
    return _with_configs(msgspec.convert(data, kind), components)


def _with_configs(value: Any, components: Components) -> Any:
    """Return a value in which the configuration of each scenario is that of its component, and no dictionary."""
    if isinstance(value, Scenario):
        config = msgspec.convert(value.config, components.config_type(value.component))
        return msgspec.structs.replace(value, config=config)
    if isinstance(value, Struct):
        return type(value)(
            **{name: _with_configs(getattr(value, name), components) for name in value.__struct_fields__}
        )
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{one.name: _with_configs(getattr(value, one.name), components) for one in fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_configs(one, components) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(_with_configs(one, components) for one in value)
    if isinstance(value, dict):
        return {key: _with_configs(one, components) for key, one in value.items()}
    return value
