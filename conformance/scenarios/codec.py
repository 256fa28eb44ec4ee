"""JSON in and out. What goes out is canonical: the same history is the same bytes on every machine."""

from __future__ import annotations

import hashlib
from json import JSONDecoder, dumps
from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from conformance.ports import Outcome
from conformance.scenarios.former import OLDEST, step_as_of_today
from conformance.scenarios.model import SCHEMA, Entry, Finding, History, Scenario, Vocabulary


class SchemaError(ValueError):
    """A file is not what it should be.

    The text says what was wrong, in which line and field, and what would be right.
    """


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a scenario."""

    schema: Literal[1, 2]
    component: str
    config: dict[str, Any]
    steps: tuple[tuple[str | int | bool, ...], ...]
    finding: Finding | None = None


class EntryFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of one step of a history: with an outcome, or skipped; closing, if the fair drain took it."""

    step: tuple[str | int | bool, ...]
    outcome: Outcome | UnsetType = UNSET
    skipped: Literal[True] | UnsetType = UNSET
    closing: Literal[True] | UnsetType = UNSET


class HistoryFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a history."""

    schema: Literal[2]
    implementation: str
    component: str
    config: dict[str, Any]
    history: tuple[EntryFile, ...]


def canonical(value: Any) -> str:
    """The one JSON text of a value: keys sorted, no blanks, ASCII."""
    return dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"))


def scenario_id(scenario: Scenario) -> str:
    """A short content hash; the finding it is evidence of does not count."""
    return hashlib.sha256(canonical([scenario.component, scenario.config, scenario.steps]).encode()).hexdigest()[:16]


def encode_scenario(scenario: Scenario) -> str:
    """The JSON file of a scenario: one step per line, so that two scenarios can be compared line by line."""
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
    """The JSON form of the steps of a history; a skipped step says `"skipped": true` in place of an outcome."""
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
    """An answer that no JSON can hold was nonsense; its type says enough, and says the same on every machine."""
    return f"<{type(value).__name__}>"


def encode_history(history: History, implementation: str) -> str:
    """The JSON file of a history, one step per line."""
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
    """Read a scenario, checked as far as its form goes; whether a step is enabled shows when it is run.

    Raises: SchemaError, which names `source`, line and field.
    """
    try:
        raw = JSONDecoder().decode(text)
    except JSONDecodeError as error:
        raise SchemaError(
            f"{source}, line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}); "
            "the file is damaged or was cut off"
        ) from None
    version = raw.get("schema") if isinstance(raw, dict) else None
    if type(version) is not int or not OLDEST <= version <= SCHEMA:
        raise SchemaError(
            f"{source}, line {_line(text, ('schema',))}, field schema: this suite reads schema versions {OLDEST} to "
            f"{SCHEMA}, found {version!r}; replay the file with a suite that knows its version"
        )
    try:
        file = msgspec.convert(raw, ScenarioFile)
    except msgspec.ValidationError as error:
        message, path = _split(str(error))
        raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {message}") from None
    try:
        config_type = vocabulary.config_type(file.component)
    except KeyError as error:
        line = _line(text, ("component",))
        raise SchemaError(f"{source}, line {line}, field component: {error.args[0]}") from None
    try:
        config = msgspec.convert(file.config, config_type)
    except msgspec.ValidationError as error:
        message, inner = _split(str(error))
        path = ("config", *inner)
        raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {message}") from None
    steps = tuple(step_as_of_today(version, file.component, step) for step in file.steps)
    for index, step in enumerate(steps):
        if complaint := vocabulary.complaint(file.component, step):
            path = ("steps", index)
            raise SchemaError(f"{source}, line {_line(text, path)}, field {_name(path)}: {complaint}")
    return Scenario(file.component, config, steps, file.finding)


def schemas() -> dict[str, dict[str, Any]]:
    """The published JSON Schemas, by the names of their files in this folder."""
    return {
        "scenario.schema.json": msgspec.json.schema(ScenarioFile),
        "history.schema.json": msgspec.json.schema(HistoryFile),
    }


def _split(message: str) -> tuple[str, tuple[str | int, ...]]:
    """msgspec ends its messages with "- at `$.steps[3][1]`"; take the path out of it."""
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
    """The line where the value at `path` begins, or the innermost value around it that exists. The text is JSON."""
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
