"""Reads the channel state in a folder of Flink checkpoints, and finds what is damaged, missing, or referred to by none.

Flink's own classes read `_metadata` and the segments of each channel state; this module judges what they return. Of all
other state it is known where it is and how long, and nothing is read. Flink's format has no checksums, and a segment
does not say where it belongs: bytes of a record that were overwritten, and two segments of one length that have changed
places, do not show.
"""

from __future__ import annotations

import subprocess
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.bridges.flink.releases import COMPONENTS
from conformance.bridges.flink.shim import command
from conformance.ports import UnusableImplementation
from conformance.scenarios.reading import MOST_BYTES
from conformance.state_files import Damaged, OtherState, StateAudit, StoredState, gaps
from conformance.system.listing import everything_below, trouble_with

METADATA = "_metadata"
EXCLUSIVE = "chk-"
"""How the name of the folder of a checkpoint begins (Flink: `AbstractFsCheckpointStorageAccess`)."""
SHARED = ("shared", "taskowned")
"""The folders beside it, of files that several checkpoints may share."""
MAIN_CLASS = "conformance.flink.StoredState"
LENGTH = 4
"""Bytes of the length in front of a segment, and of that in front of a record."""


class ReadSegment(Struct, frozen=True):
    """What Flink read at an offset: the content, or the error."""

    offset: int
    content: bytes = b""
    error: str | None = None

    @property
    def end(self) -> int:
        """Where the next segment begins."""
        return self.offset + LENGTH + len(self.content)


class ReadState(Struct, frozen=True):
    """A channel state as its handle says, with its segments."""

    source: int
    subtask: int
    output: bool
    group: int
    """The number of the gate or of the partition."""
    channel: int
    size: int
    segments: tuple[ReadSegment, ...]


class Source(Struct, frozen=True):
    """What handles read from: a file, a part of one, or bytes in `_metadata`."""

    size: int
    file: str | None = None
    start: int | None = None
    """Where the part begins in its file; None: it is the whole file."""
    header: int = 0
    """How many bytes the header has."""
    error: str | None = None


class ReadOther(Struct, frozen=True):
    """A handle of state that is no channel state."""

    kind: str
    operator: str
    subtask: int
    """-1: the coordinator of the operator."""
    size: int
    file: str | None = None
    """None: the bytes are in `_metadata`."""
    start: int | None = None
    """Where the part begins in its file; None: it is the whole file."""
    unknown: str | None = None
    """The class of the handle, if it does not say where its bytes are."""


class ReadCheckpoint(Struct, frozen=True):
    """What Flink read in one `_metadata`."""

    path: str
    checkpoint: int = 0
    sources: tuple[Source, ...] = ()
    states: tuple[ReadState, ...] = ()
    others: tuple[ReadOther, ...] = ()
    error: str | None = None


class ReadFolder(Struct, frozen=True):
    """What Flink read in a folder."""

    checkpoints: tuple[ReadCheckpoint, ...]


def audit_checkpoints(folder: Path, release: str) -> StateAudit:
    """Read the channel state of each checkpoint and savepoint in a folder and below it, and find all other state.

    Raises: OSError if the folder cannot be read; UnusableImplementation if the release cannot run.
    """
    if not folder.is_dir():
        raise NotADirectoryError(20, "this is not a folder", str(folder))
    found: list[StoredState] = []
    others: list[OtherState] = []
    damaged: list[Damaged] = []
    names: set[str] = set()
    everything, closed = everything_below(folder)
    whole: list[Path] = []
    for path in (one for one in everything if one.name == METADATA):
        if (trouble := trouble_with(path, MOST_BYTES)) is None:
            whole.append(path)
        else:
            damaged.append(Damaged(str(path.relative_to(folder)), trouble))
    damaged += [Damaged(str(path.relative_to(folder)), f"this folder cannot be read: {why}") for path, why in closed]
    checkpoints = _read(whole, release)
    for checkpoint in checkpoints:
        here = _name(checkpoint.path, folder)
        if checkpoint.error is not None:
            damaged.append(Damaged(here, f"Flink cannot read it: {checkpoint.error}"))
        sources = checkpoint.sources
        names.update(here if source.file is None else _name(source.file, folder) for source in sources)
        for number, source in enumerate(sources):
            states = [state for state in checkpoint.states if state.source == number]
            name = here if source.file is None else _name(source.file, folder)
            for one in audit_source(name, checkpoint.checkpoint, source, states):
                (found if type(one) is StoredState else damaged).append(one)  # type: ignore[arg-type]
        for other in checkpoint.others:
            name = here if other.file is None else _name(other.file, folder)
            names.add(name)
            subtask = None if other.subtask < 0 else other.subtask
            others.append(OtherState(name, checkpoint.checkpoint, other.operator, subtask, other.kind, other.size))
            damaged += audit_other(name, other)
    strays = unreferenced(everything, folder, names) if not damaged else []
    return StateAudit(len(names), tuple(found), tuple(damaged), tuple(others), tuple(strays))


def unreferenced(everything: Sequence[Path], folder: Path, names: Container[str]) -> list[str]:
    """Return the files of checkpoints that no `_metadata` names.

    The files of a checkpoint are those beside its `_metadata`, those in folders that have the name of a checkpoint that
    is not complete, and those that several checkpoints share: beside the folder of a checkpoint, in folders of the
    names that Flink gives them. What lies elsewhere is nobody's business.
    """
    complete = {path.parent for path in everything if path.name == METADATA}
    jobs = {path.parent for path in complete}
    found = []
    for path in everything:
        mine = path.parent in complete or any(
            above.parent in jobs and (above.name in SHARED or above.name.startswith(EXCLUSIVE))
            for above in path.parents
        )
        if mine and path.name != METADATA and (name := str(path.relative_to(folder))) not in names:
            found.append(name)
    return found


def audit_other(name: str, state: ReadOther) -> Iterator[Damaged]:
    """Yield what is wrong with state that is no channel state: whether its bytes are there."""
    whose = f"the {state.kind} state of " + (f"subtask {state.subtask}" if state.subtask >= 0 else "the coordinator")
    owner = f"{whose} of operator {state.operator}"
    if state.unknown is not None:
        yield Damaged(name, f"{owner} has a handle that is not known, {state.unknown}, so it was not looked for")
    elif state.file is not None and not Path(state.file).is_file():
        if state.size:
            yield Damaged(name, f"the file is missing; {owner} is in it")
    elif state.file is not None:
        length, due = Path(state.file).stat().st_size, (state.start or 0) + state.size
        if length < due or (state.start is None and length != due):
            yield Damaged(name, f"the file must have {due} bytes for {owner}, it has {length}", length)


def _read(paths: Sequence[Path], release: str) -> tuple[ReadCheckpoint, ...]:
    if not paths:
        return ()
    run = (*command(release, COMPONENTS, MAIN_CLASS), *(str(path.absolute()) for path in paths))
    done = subprocess.run(run, capture_output=True, check=False)
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()
        raise UnusableImplementation(f"Flink {release} could not read {len(paths)} checkpoints. It said:\n{told}")
    return msgspec.json.decode(done.stdout, type=ReadFolder).checkpoints


def _name(path: str, folder: Path) -> str:
    """A path as it is below the folder; a file elsewhere keeps its whole path."""
    base = folder.absolute()
    return str(Path(path).relative_to(base)) if Path(path).is_relative_to(base) else path


def audit_source(
    name: str, checkpoint: int, source: Source, states: Sequence[ReadState]
) -> Iterator[StoredState | Damaged]:
    """The channel states of one source. What no handle names is reported only if every segment could be read."""
    begin = source.start or 0
    if source.file is not None:
        if not Path(source.file).is_file():
            yield Damaged(name, "the file is missing; _metadata names it")
            return
        length, due = Path(source.file).stat().st_size, begin + source.size
        if length < due or (source.start is None and length != due):
            yield Damaged(name, f"the file must have {due} bytes, it has {length}", length)
    if source.error is not None:
        yield Damaged(name, f"Flink cannot read the header: {source.error}", begin)
        return
    ranges: dict[int, tuple[int, ReadState]] = {}
    for state in states:
        wrong = [one for one in state.segments if one.error is not None]
        if wrong:
            for one in wrong:
                yield Damaged(name, f"{_describe(state)}: Flink cannot read a segment: {one.error}", begin + one.offset)
            continue
        yield from _judge(name, checkpoint, source, state)
        for one in state.segments:
            if one.offset in ranges:
                both = f"{_describe(ranges[one.offset][1])}, {_describe(state)}"
                yield Damaged(name, f"two handles name this segment: {both}", begin + one.offset)
            ranges[one.offset] = one.end, state
    spans = sorted((offset, end) for offset, (end, _) in ranges.items())
    for (_, end), (offset, _) in pairwise(spans):
        if offset < end:
            yield Damaged(name, f"a segment begins at {offset} inside another one", begin + offset)
    if any(one.error is not None for state in states for one in state.segments):
        return
    for offset, end in gaps(source.size, spans, source.header):
        yield Damaged(name, f"no handle names the bytes from {begin + offset} to {begin + end}", begin + offset)


def _judge(name: str, checkpoint: int, source: Source, state: ReadState) -> Iterator[StoredState | Damaged]:
    """One channel state whose segments could be read. A handle of bytes in `_metadata` counts the header, too."""
    size = sum(LENGTH + len(one.content) for one in state.segments)
    due = state.size if source.file is not None else state.size - source.header
    if size != due:
        yield Damaged(name, f"{_describe(state)}: the handle says {due} bytes, its segments have {size}")
        return
    records: int | None = None
    if not state.output:
        records, wrong = _count(b"".join(one.content for one in state.segments))
        if wrong is not None:
            yield Damaged(name, f"{_describe(state)}: {wrong}")
            return
    yield StoredState(name, checkpoint, state.subtask, state.output, state.channel, records, size)


def _count(data: bytes) -> tuple[int, str | None]:
    """How many records begin in the data of an input channel, and what is wrong with them.

    The last one may go on in the output state of the producer. A record has at least one byte.
    """
    at = count = 0
    while len(data) - at >= LENGTH:
        length = int.from_bytes(data[at : at + LENGTH], "big", signed=True)
        if length < 1:
            return count, f"the record at byte {at} of its data must have a length above 0, it has {length}"
        count += 1
        at += LENGTH + length
    return count, None


def _describe(state: ReadState) -> str:
    kind, group = ("output", "partition") if state.output else ("input", "gate")
    return f"subtask {state.subtask}, {kind} channel {state.channel} of {group} {state.group}"
