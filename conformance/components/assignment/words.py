"""Describes what state assignment returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.ports import Assigned, InputHandle, OutputHandle, RescaleMapping


def assigned_in_words(answer: Sequence[Assigned]) -> str:
    """Describes who recovers what: `vertex 1, subtask 0: input 2.0.1 and output 0.0.2; gate 0 from 1, 2`. A handle is
    given as its old subtask, its gate or partition, and its channel or subpartition. Subtasks that recover nothing, and
    of which nothing is mapped, are left out."""
    said = [
        f"vertex {one.vertex}, subtask {one.subtask}: {'; '.join(parts)}" for one in answer if (parts := [*_of(one)])
    ]
    return " | ".join(said) or "nobody recovers anything"


def _of(one: Assigned) -> Iterator[str]:
    found = [f"input {_handle(handle)}" for handle in one.inputs]
    found += [f"producer's output {_handle(handle)}" for handle in one.from_upstream]
    found += [f"output {_output(handle)}" for handle in one.outputs]
    if found:
        yield ", ".join(found)
    for word, mappings in ("gate", one.gates), ("partition", one.partitions):
        for place, mapping in enumerate(mappings):
            if mapping is not None and mapping.old_subtasks:
                yield f"{word} {place} {_mapping(mapping)}"


def _handle(handle: InputHandle) -> str:
    return f"{handle.old_subtask}.{handle.gate}.{handle.old_channel}"


def _output(handle: OutputHandle) -> str:
    return f"{handle.old_subtask}.{handle.partition}.{handle.old_subpartition}"


def _mapping(mapping: RescaleMapping) -> str:
    channels = " and ".join(", ".join(map(str, channel)) or "none" for channel in mapping.channels)
    text = f"from {', '.join(map(str, mapping.old_subtasks))}"
    if channels:
        text += f" with channels {channels}"
    return f"{text}, filtered {', '.join(map(str, mapping.ambiguous))}" if mapping.ambiguous else text
