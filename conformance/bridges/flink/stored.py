"""Reads the channel state in a folder of Flink checkpoints, and finds what is damaged, missing, or referred to by none.

Flink's own classes read `_metadata` and the segments of each channel state; this module judges what they return. Of all
other state it is known where it is and how long, and nothing is read. Flink's format has no checksums, and a segment
does not say where it belongs: bytes of a record that were overwritten, and two segments of one length that have changed
places, do not show.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.bridges.flink.releases import COMPONENTS
from conformance.bridges.flink.shim import command
from conformance.ports import Limits, UnusableImplementation
from conformance.state_files import Damaged, OtherState, StateAudit, StoredState, Unread, gaps
from conformance.system.files import opened
from conformance.system.folders import scratch
from conformance.system.listing import LINKED, everything_below, trouble_with
from conformance.system.processes import Started, fate

METADATA = "_metadata"
MOST_METADATA = 1 << 30
"""A larger `_metadata` is not read, in bytes. Whether Flink can read a smaller one is a matter of memory."""
EXCLUSIVE = "chk-"
"""How the name of the folder of a checkpoint begins (Flink: `AbstractFsCheckpointStorageAccess`)."""
SHARED = ("shared", "taskowned")
"""The folders beside it, of files that several checkpoints may share."""
MAIN_CLASS = "conformance.flink.StoredState"
LENGTH = 4
"""Bytes of the length in front of a segment, and of that in front of a record."""
_SMALLEST_HEAP = 64
"""In MiB; the JVM does not start with much less."""


class ReadSegment(Struct, frozen=True):
    """What Flink read at an offset: how long the content is, or the error."""

    offset: int
    length: int = 0
    error: str | None = None

    @property
    def end(self) -> int:
        """Where the next segment begins."""
        return self.offset + LENGTH + self.length


class ReadState(Struct, frozen=True):
    """A channel state as its handle says, with its segments. There are none if its source cannot be read."""

    source: int
    subtask: int
    output: bool
    group: int
    """The number of the gate or of the partition."""
    channel: int
    size: int
    segments: tuple[ReadSegment, ...] = ()
    records: int | None = None
    """How many records begin in its data; None: it is output, of which it is not known where the first one begins."""
    wrong: str | None = None
    """What is wrong with its records."""


class Where(Struct, frozen=True, kw_only=True):
    """Where the bytes of a handle are: in a file, in a part of one, or, if it says nothing, in `_metadata`."""

    size: int
    file: str | None = None
    start: int | None = None
    """Where the part begins in its file; None: it is the whole file."""
    elsewhere: str | None = None
    """The address of a file that is on no local disk."""
    changelog: bool = False
    """The filesystem changelog wrote the file: a byte, which is 0 if nothing is compressed, and behind it what had
    `size` bytes before it was compressed."""
    unknown: str | None = None
    """The class of the handle, if it does not say where its bytes are."""


class Source(Where, frozen=True, kw_only=True):
    """What the handles of channel state read from."""

    header: int = 0
    """How many bytes the header has."""
    error: str | None = None


class ReadOther(Where, frozen=True, kw_only=True):
    """A handle of state that is no channel state."""

    kind: str
    operator: str
    subtask: int
    """-1: the coordinator of the operator."""


class ReadCheckpoint(Struct, frozen=True):
    """What Flink read in one `_metadata`."""

    checkpoint: int = 0
    sources: tuple[Source, ...] = ()
    states: tuple[ReadState, ...] = ()
    others: tuple[ReadOther, ...] = ()
    error: str | None = None
    unread: str | None = None
    """Why Flink has not read it, though nothing may be wrong with it."""


class _Names:
    """The names of files in the folder that is audited: links are followed, so that one file has one name."""

    def __init__(self, folder: str) -> None:
        self._inside = os.path.join(folder, "")
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return a path below the folder; a file that is not in it keeps its whole path."""
        if path not in self._known:
            try:
                self._known[path] = os.path.realpath(path).removeprefix(self._inside)
            except ValueError:  # no file can have such a name
                self._known[path] = path
        return self._known[path]


def audit_checkpoints(folder: Path, release: str, limits: Limits | None = None) -> StateAudit:
    """Read the channel state of each checkpoint and savepoint in a folder and below it, and find all other state.

    A job may be using the folder: of a checkpoint that is deleted meanwhile, nothing is reported.

    Raises: OSError if the folder cannot be read; UnusableImplementation if the release cannot run.
    """
    if not folder.is_dir():
        raise NotADirectoryError(20, "this is not a folder", str(folder))
    folder = Path(os.path.realpath(folder))
    listing = everything_below(folder)
    found: list[StoredState | OtherState | Damaged | Unread] = [
        Unread(str(path.relative_to(folder)), f"this folder cannot be read: {why}")
        for path, why in listing.closed
        if os.path.lexists(path)
    ]
    found += [Unread(str(path.relative_to(folder)), LINKED) for path in listing.linked]
    whole: list[Path] = []
    deleted = complete = 0
    names, called = set[str](), _Names(str(folder))
    for path in (one for one in listing.files if one.name == METADATA):
        trouble = trouble_with(path, MOST_METADATA) or _trouble_with_reading(path)
        if trouble is None:
            whole.append(path)
        elif os.path.lexists(path):
            found.append(Unread(str(path.relative_to(folder)), trouble))
        else:
            deleted += 1
    for path, checkpoint in zip(whole, _read(whole, release, limits or Limits()), strict=True):
        here = str(path.relative_to(folder))
        places = [*checkpoint.sources, *checkpoint.others]
        names.update(_name(one, here, called) for one in places if one.elsewhere is None)
        parts = list(_audit(here, checkpoint, called))
        if any(isinstance(one, Damaged | Unread) for one in parts) and not os.path.lexists(path):
            deleted += 1
            continue
        complete += checkpoint.error is None and checkpoint.unread is None
        found += parts
    damaged = tuple(one for one in found if type(one) is Damaged)
    unread = tuple(one for one in found if type(one) is Unread)
    return StateAudit(
        files=len(names),
        states=tuple(one for one in found if type(one) is StoredState),
        damaged=damaged,
        others=tuple(one for one in found if type(one) is OtherState),
        unreferenced=() if damaged or unread else tuple(unreferenced(listing.files, folder, names)),
        unread=unread,
        checkpoints=complete,
        deleted=deleted,
    )


def _audit(
    here: str, checkpoint: ReadCheckpoint, called: _Names
) -> Iterator[StoredState | OtherState | Damaged | Unread]:
    """All that one checkpoint has, and what is wrong with it. `here` stands for its `_metadata`."""
    if checkpoint.unread is not None:
        yield Unread(here, checkpoint.unread)
    if checkpoint.error is not None:
        yield Damaged(here, f"Flink cannot read it: {checkpoint.error}")
    states: dict[int, list[ReadState]] = defaultdict(list)
    for state in checkpoint.states:
        states[state.source].append(state)
    for number, source in enumerate(checkpoint.sources):
        yield from audit_source(_name(source, here, called), checkpoint.checkpoint, source, states[number])
    for other in checkpoint.others:
        name, subtask = _name(other, here, called), None if other.subtask < 0 else other.subtask
        yield OtherState(name, checkpoint.checkpoint, other.operator, subtask, other.kind, other.size)
        whose = "the coordinator" if subtask is None else f"subtask {subtask}"
        if wrong := look_for(other, name, f"the {other.kind} state of {whose} of operator {other.operator}"):
            yield wrong


def _name(where: Where, here: str, called: _Names) -> str:
    if where.elsewhere is not None:
        return where.elsewhere
    return here if where.file is None else called.of(where.file)


def unreferenced(everything: Sequence[Path], folder: Path, names: Container[str]) -> list[str]:
    """Return the files of checkpoints that no `_metadata` names, and that are still there.

    The files of a checkpoint are those beside its `_metadata`, those in folders that have the name of a checkpoint that
    is not complete, and those that several checkpoints share: beside the folder of a checkpoint, in folders of the
    names that Flink gives them. What lies elsewhere is nobody's business.
    """
    complete = {path.parent for path in everything if path.name == METADATA}
    jobs = {path.parent for path in complete}
    called = _Names(str(folder))
    found = []
    for path in everything:
        mine = path.parent in complete or any(
            above.parent in jobs and (above.name in SHARED or above.name.startswith(EXCLUSIVE))
            for above in path.parents
        )
        if mine and path.name != METADATA and called.of(str(path)) not in names and os.path.lexists(path):
            found.append(str(path.relative_to(folder)))
    return found


def look_for(where: Where, name: str, whose: str) -> Damaged | Unread | None:
    """Return what is wrong with the file in which state must be. Only a wrong length has an offset."""
    if where.unknown is not None:
        return Unread(name, f"{whose} has a handle that is not known, {where.unknown}, so it was not looked for")
    if where.elsewhere is not None:
        return Unread(name, f"this is not on a local disk, so {whose} was not looked for")
    if where.file is None:
        return None
    try:
        about = os.stat(where.file)
        if not stat.S_ISREG(about.st_mode):
            return Damaged(name, f"this is not a regular file; {whose} must be in it")
        if trouble := _trouble_with_reading(where.file):
            return Unread(name, f"{trouble}; {whose} must be in it")
        due, exact = _due(where.file, where)
    except ValueError:  # no file can have such a name
        reason = errno.ENOENT
    except OSError as error:
        reason = error.errno or errno.EIO
    else:
        if due == about.st_size or (due < about.st_size and not exact):
            return None
        least = "" if exact else "at least "
        what = f"the file must have {least}{due} bytes for {whose}, it has {about.st_size}"
        return Damaged(name, what, about.st_size)
    if reason not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return Unread(name, f"the file cannot be read: {os.strerror(reason)}; {whose} must be in it")
    return Damaged(name, f"the file is missing; {whose} is in it") if where.size else None


def _due(path: str, where: Where) -> tuple[int, bool]:
    """How many bytes the file must have, and whether it must not have more. Raises: OSError."""
    if where.changelog:
        with opened(path) as file:
            return (where.size + 1, True) if file.read(1) == b"\0" else (2, False)
    return (where.start or 0) + where.size, where.start is None


def _trouble_with_reading(path: str | Path) -> str | None:
    return None if os.access(path, os.R_OK) else "the file cannot be read: Permission denied"


def _read(paths: Sequence[Path], release: str, limits: Limits) -> Iterator[ReadCheckpoint]:
    """What Flink read in each `_metadata`. Where it ended or hung, that one and all behind it are unread."""
    if not paths:
        return
    heap = max(_SMALLEST_HEAP, limits.memory_mib * 3 // 4)  # the rest is for the JVM itself
    run = command(release, COMPONENTS, MAIN_CLASS, f"{heap}m")
    utf8 = {**os.environ, "LC_ALL": "C.UTF-8"}  # in the locale C, a JVM cannot open a file whose name is not in ASCII
    with scratch("conformance-audit-") as folder:
        asked, answers, log = folder / "paths", folder / "answers", folder / "log"
        asked.write_bytes(b"\0".join(os.fsencode(path) for path in paths))
        with asked.open("rb") as given, answers.open("wb") as lines, log.open("wb") as errors:
            child = Started(run, env=utf8, stdin=given, stdout=lines, stderr=errors)
            try:
                child.wait(limits.step_seconds)
                in_time = child.has_ended()
            finally:
                code = child.kill()
        *read, _ = answers.read_bytes().split(b"\n")  # a JVM that was killed may leave half a line
        told = log.read_text(encoding="utf-8", errors="replace").strip()
    if not read and in_time:
        raise UnusableImplementation(f"Flink {release} could not read {len(paths)} checkpoints. It said:\n{told}")
    for line in read:
        yield msgspec.json.decode(line, type=ReadCheckpoint)
    why = fate(code) if in_time else f"did not answer within {limits.step_seconds:g} seconds"
    for _ in paths[len(read) :]:
        yield ReadCheckpoint(unread=f"Flink {why} before it had read this")


def audit_source(
    name: str, checkpoint: int, source: Source, states: Sequence[ReadState]
) -> Iterator[StoredState | Damaged | Unread]:
    """The channel states of one source. What no handle names is reported only if every segment could be read."""
    begin = source.start or 0
    if wrong := look_for(source, name, "channel state"):
        yield wrong
        if isinstance(wrong, Unread) or wrong.offset is None:
            return
    if source.error is not None:
        yield Damaged(name, f"Flink cannot read the header: {source.error}", begin)
        return
    ranges: dict[int, tuple[int, ReadState]] = {}
    for state in states:
        errors = [one for one in state.segments if one.error is not None]
        if errors:
            for one in errors:
                yield Damaged(name, f"{_describe(state)}: Flink cannot read a segment: {one.error}", begin + one.offset)
            continue
        yield _judge(name, checkpoint, source, state)
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


def _judge(name: str, checkpoint: int, source: Source, state: ReadState) -> StoredState | Damaged:
    """One channel state whose segments could be read. A handle of bytes in `_metadata` counts the header, too."""
    size = sum(LENGTH + one.length for one in state.segments)
    due = state.size if source.file is not None else state.size - source.header
    if size != due:
        return Damaged(name, f"{_describe(state)}: the handle says {due} bytes, its segments have {size}")
    if state.wrong is not None:
        return Damaged(name, f"{_describe(state)}: {state.wrong}")
    return StoredState(name, checkpoint, state.subtask, state.output, state.channel, state.records, size)


def _describe(state: ReadState) -> str:
    kind, group = ("output", "partition") if state.output else ("input", "gate")
    return f"subtask {state.subtask}, {kind} channel {state.channel} of {group} {state.group}"
