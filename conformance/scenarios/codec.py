"""Reads and writes scenarios and histories as JSON. The same history is written as the same bytes on every machine."""

from __future__ import annotations

import hashlib
from json import JSONDecoder, dumps
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.ports import Outcome
from conformance.scenarios.former import OLDEST, step_as_of_today
from conformance.scenarios.former_gates import Read, as_of_today
from conformance.scenarios.model import MOST_STEPS, SCHEMA, Entry, Finding, History, Scenario, Vocabulary
from conformance.scenarios.reading import SchemaError, Unreadable, decode_json


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a scenario."""

    schema: Literal[1, 2, 3]
    component: str
    config: dict[str, Any]
    steps: Annotated[tuple[tuple[str | int | bool, ...], ...], Meta(max_length=MOST_STEPS)]
    finding: Finding | None = None


class EntryFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of one step of a history. It has an outcome or was skipped; `closing` marks the fair drain."""

    step: tuple[str | int | bool, ...]
    outcome: Outcome | UnsetType = UNSET
    skipped: Literal[True] | UnsetType = UNSET
    closing: Literal[True] | UnsetType = UNSET


class HistoryFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a history."""

    schema: Literal[3]
    implementation: str
    component: str
    config: dict[str, Any]
    history: tuple[EntryFile, ...]


def canonical(value: Any) -> str:
    """Returns the canonical JSON text of a value: keys sorted, no blanks, ASCII."""
    return dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"))


def scenario_id(scenario: Scenario) -> str:
    """Returns a hash of the component, the configuration and the steps: 16 hexadecimal digits."""
    return hashlib.sha256(canonical([scenario.component, scenario.config, scenario.steps]).encode()).hexdigest()[:16]


def encode_scenario(scenario: Scenario) -> str:
    """Returns the JSON file of a scenario, with one step per line so that a diff of two scenarios is readable."""
    steps = ",\n".join(f"    {dumps(msgspec.to_builtins(step))}" for step in scenario.steps)
    lines = [
        f'  "schema": {SCHEMA}',
        f'  "component": {dumps(scenario.component)}',
        f'  "config": {dumps(msgspec.to_builtins(scenario.config), sort_keys=True)}',
        f'  "steps": [\n{steps}\n  ]' if scenario.steps else '  "steps": []',
    ]
    if scenario.finding is not None:
        lines.append(f'  "finding": {dumps(msgspec.to_builtins(scenario.finding), sort_keys=True)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def encode_entries(entries: tuple[Entry, ...]) -> list[dict[str, Any]]:
    """Returns the JSON form of the steps of a history. A skipped step has `"skipped": true` instead of an outcome."""
    return [
        {
            "step": msgspec.to_builtins(entry.step),
            **(
                {"skipped": True}
                if entry.outcome is None
                else {"outcome": msgspec.to_builtins(entry.outcome, enc_hook=_in_words)}
            ),
            **({"closing": True} if entry.closing else {}),
        }
        for entry in entries
    ]


def _in_words(value: Any) -> str:
    """Returns the type of a result that JSON cannot hold. Unlike its value, the type is the same on every machine."""
    return f"<{type(value).__name__}>"


def encode_history(history: History, implementation: str) -> str:
    """Returns the JSON file of a history, with one step per line."""
    entries = ",\n".join(f"    {dumps(entry, sort_keys=True)}" for entry in encode_entries(history.entries))
    scenario = history.scenario
    return (
        "{\n"
        f'  "schema": {SCHEMA},\n'
        f'  "implementation": {dumps(implementation)},\n'
        f'  "component": {dumps(scenario.component)},\n'
        f'  "config": {dumps(msgspec.to_builtins(scenario.config), sort_keys=True)},\n'
        f'  "history": [\n{entries}\n  ]\n'
        "}\n"
    )


def decode_scenario(text: str, vocabulary: Vocabulary, source: str = "scenario") -> Scenario:
    """Read a scenario and check its form. Only a run of the scenario shows whether its steps are enabled.

    Raises: SchemaError, which names `source`, line and field.
    """
    data = text.encode()
    try:
        raw = decode_json(data, object)
    except Unreadable as error:
        raise SchemaError(error.told(source, data)) from None
    version = raw.get("schema") if isinstance(raw, dict) else None
    if type(version) is not int or not OLDEST <= version <= SCHEMA:
        raise SchemaError(
            f"{source}, line {_line(text, ('schema',))}, field schema: this suite reads schema versions {OLDEST} to "
            f"{SCHEMA}, found {version!r}; replay the file with a suite that knows its version"
        )
    steps = raw.get("steps") if isinstance(raw, dict) else None
    if isinstance(steps, list) and len(steps) > MOST_STEPS:
        raise SchemaError(
            f"{source}, line {_line(text, ('steps',))}, field steps: a scenario has at most {MOST_STEPS:,} steps, and "
            f"this one {len(steps):,}; leave out some of them: each part of a scenario is a scenario, too"
        )
    try:
        file = msgspec.convert(raw, ScenarioFile)
    except msgspec.ValidationError as error:
        message, path = _split(str(error))
        raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {message}") from None
    component, config_now, today = read_as_of_today(file)
    try:
        config_type = vocabulary.config_type(component)
    except KeyError as error:
        line = _line(text, ("component",))
        raise SchemaError(f"{source}, line {line}, field component: {error.args[0]}") from None
    try:
        config = msgspec.convert(config_now, config_type)
    except msgspec.ValidationError as error:
        message, inner = _split(str(error))
        path = ("config", *inner)
        raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {message}") from None
    for index, step in enumerate(today):
        if complaint := vocabulary.complaint(component, step):
            path = ("steps", index)
            raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {complaint}")
    return Scenario(component, config, today, file.finding)


def read_as_of_today(file: ScenarioFile) -> Read:
    """Returns the component, the configuration and the steps of a file of any schema, as they are called now."""
    steps = tuple(step_as_of_today(file.schema, file.component, step) for step in file.steps)
    return as_of_today(file.component, file.config, steps)


def schemas() -> dict[str, dict[str, Any]]:
    """Returns the published JSON Schemas, by the names of their files in this folder."""
    return {
        "scenario.schema.json": msgspec.json.schema(ScenarioFile),
        "history.schema.json": msgspec.json.schema(HistoryFile),
    }


def _split(message: str) -> tuple[str, tuple[str | int, ...]]:
    """Split an error of msgspec, which ends with a path such as "- at `$.steps[3][1]`", into message and path."""
    text, _, path = message.partition(" - at `$")
    parts: list[str | int] = []
    for part in path.rstrip("`").replace("[", ".[").split("."):
        if part.startswith("[") and part[1:-1].isdigit():
            parts.append(int(part[1:-1]))
        elif part and not part.startswith("["):
            parts.append(part)
    return text, tuple(parts)


def _name(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "(the file)"


def _line(text: str, path: tuple[str | int, ...]) -> int:
    """Returns the line where the value at `path` begins, or else the innermost existing value around it.

    `text` must be JSON.
    """
    decoder = JSONDecoder()

    def skip(at: int) -> int:
        return int(WHITESPACE.match(text, at).end())

    at = skip(0)
    for part in path:
        begin, opening, index = at, text[at], 0
        if opening not in "[{":
            break
        at = skip(at + 1)
        while text[at] not in "]}":
            key: str | int = index
            if opening == "{":
                key, at = scanstring(text, at + 1)
                at = skip(skip(at) + 1)
            if key == part:
                break
            at = skip(decoder.raw_decode(text, at)[1])
            at = skip(at + 1) if text[at] == "," else at
            index += 1
        else:
            at = begin
            break
    return text.count("\n", 0, at) + 1
