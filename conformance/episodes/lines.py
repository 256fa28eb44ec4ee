"""The lines in which somebody says what a job did that ran elsewhere: docs/judge.md. They are read one by one.

The first line is the header. Then come lines of three ledgers, in the order in which things happened: of the source, of
the checkpoints and of the sink; and others that say where a life of the job begins and how it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from conformance.ports.episodes import Output
from conformance.ports.pipeline import MOST_SPLITS, RECORDS_OF_A_SPLIT
from conformance.scenarios import SchemaError
from conformance.scenarios.reading import Misshapen, Unreadable, decode_json

MOST_BYTES_OF_A_LINE = 1 << 20
_GZIP = b"\x1f\x8b"
Split = Annotated[int, Meta(ge=0, lt=MOST_SPLITS)]
Position = Annotated[int, Meta(ge=0, lt=RECORDS_OF_A_SPLIT)]
_MOST = 1 << 53
"""Larger numbers are not the same in all languages."""
Number = Annotated[int, Meta(ge=1, le=_MOST)]
Many = Annotated[int, Meta(ge=0, le=_MOST)]
Key = int | str
Named = int | str | tuple[Split, Position]
"""A record: its split and its position, or its id."""


class _Line(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag=str.lower):
    """A line. Its field `line` says of what."""


class Promised(Struct, frozen=True, forbid_unknown_fields=True):
    """What the engine promises, as for an adapter of episodes."""

    output: Output = Output.EXACTLY_ONCE
    continues: bool = False


class Header(_Line, frozen=True, tag="header"):
    """The first line."""

    version: Literal[1]
    splits: Annotated[int, Meta(ge=1, le=MOST_SPLITS)]
    job: str = ""
    promises: Promised = field(default_factory=Promised)


# ---- the ledger of the source ----------------------------------------------------------------------------------------
class Supplied(_Line, frozen=True):
    """There is a further record."""

    split: Split
    position: Position
    key: Key
    id: int | str | None = None


class Ended(_Line, frozen=True):
    """No further records come, in any split."""


# ---- that of the checkpoints -----------------------------------------------------------------------------------------
class Triggered(_Line, frozen=True):
    """A checkpoint or a savepoint begins."""

    checkpoint: Number
    savepoint: bool = False
    stops: bool = False
    """Whether it is a savepoint with which the job is stopped."""


class Completed(_Line, frozen=True):
    """It is complete."""

    checkpoint: Number
    positions: tuple[Many, ...] | None = None
    """By split, how many of its records are in front of the checkpoint."""


class Aborted(_Line, frozen=True):
    """It has failed, or was given up."""

    checkpoint: Number


# ---- that of the sink ------------------------------------------------------------------------------------------------
class _Row(_Line, frozen=True):
    record: Named
    key: Key
    count: Number
    """How many records of the key have been counted, with this one."""
    batch: Many | None = None
    """With output once per batch: the number of the batch."""


class Committed(_Row, frozen=True):
    """The sink has committed a row."""

    checkpoint: Number | None = None
    """The checkpoint with which it was written, if the sink waits for that."""


class Row(_Row, frozen=True):
    """A row that a reader has found in the output."""


class Output_(_Line, frozen=True, tag="output"):
    """A reader has read the whole output: the lines `row` since the last `output`."""

    rows: Many


# ---- lives -----------------------------------------------------------------------------------------------------------
class Started(_Line, frozen=True):
    """The user has started the job."""

    restored: Many | bool = 0
    """The checkpoint or savepoint; true: recovery data whose number is not known; 0: nothing."""
    positions: tuple[Many, ...] | None = None
    """By split, from where on its source reads."""


class Restarted(_Line, frozen=True):
    """The engine has restarted the job by itself."""

    restored: Many | bool
    """As in `Started`."""
    positions: tuple[Many, ...] | None = None


class Killed(_Line, frozen=True):
    """The user has killed or stopped the job, or has made it fail, and nothing restarts it."""


class Failed(_Line, frozen=True):
    """The job has failed by itself, and is not restarted."""

    cause: str = ""


class Finished(_Line, frozen=True):
    """The job has read all to the end, and everything is written; behind a savepoint with which it was stopped: it has
    ended."""


Line: TypeAlias = (
    Header | Supplied | Ended | Triggered | Completed | Aborted | Committed | Row | Output_ | Started | Restarted
    | Killed | Failed | Finished
)  # fmt: skip
EXAMPLES = {
    "header": '{"line": "header", "version": 1, "splits": 2, "promises": {"output": "exactly-once"}}',
    "supplied": '{"line": "supplied", "split": 0, "position": 0, "key": "anna", "id": "o-17"}',
    "ended": '{"line": "ended"}',
    "triggered": '{"line": "triggered", "checkpoint": 1}',
    "completed": '{"line": "completed", "checkpoint": 1, "positions": [1, 0]}',
    "aborted": '{"line": "aborted", "checkpoint": 1}',
    "committed": '{"line": "committed", "record": [0, 0], "key": "anna", "count": 1, "checkpoint": 1}',
    "row": '{"line": "row", "record": "o-17", "key": "anna", "count": 1}',
    "output": '{"line": "output", "rows": 1}',
    "started": '{"line": "started", "restored": 1, "positions": [1, 0]}',
    "restarted": '{"line": "restarted", "restored": 1, "positions": [1, 0]}',
    "killed": '{"line": "killed"}',
    "failed": '{"line": "failed", "cause": "NullPointerException"}',
    "finished": '{"line": "finished"}',
}
"""By what a line says, a right one."""
FIRST_LIFE = '{"line": "started", "restored": 0}'
"""A right line where no life has begun yet."""
_VALUES = {"version": "1, the version that is read here", "promises.output": ", ".join(Output)}
"""By the name of a field with few values, which ones there are."""
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_KIND: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, Any])


def read_lines(file: BinaryIO, source: str) -> Iterator[tuple[int, Line]]:
    """Yields the lines with their numbers, from 1. Empty ones are left out.

    Raises: SchemaError, which names `source`, line and field, and says what would be right.
    """
    number = 0
    while data := file.readline(MOST_BYTES_OF_A_LINE):
        number += 1
        if len(data) == MOST_BYTES_OF_A_LINE:
            raise SchemaError(f"{source}, line {number}: a line has less than {MOST_BYTES_OF_A_LINE:,} bytes")
        if number == 1 and data.startswith(_GZIP):
            raise SchemaError(f"{source}: it is compressed; `gzip -dc FILE | conformance judge -` judges what is in it")
        if not data.strip():
            continue
        try:
            yield number, decode_json(data, _DECODER)
        except Unreadable as error:
            raise SchemaError(f"{source}, line {number}: this is not a line of JSON: {error}") from None
        except Misshapen as error:
            raise SchemaError(f"{source}, line {number}{_cure(str(error), data)}") from None


def _cure(wrong: str, data: bytes) -> str:
    """Returns which field is wrong, in which way, and a right line of this kind."""
    message, _, path = wrong.partition(" - at `$")
    try:
        kind = _KIND.decode(data).get("line")
    except msgspec.MsgspecError:
        return f": a line is a JSON object, as {EXAMPLES['supplied']}"
    right = EXAMPLES.get(kind) if isinstance(kind, str) else None
    if right is None:
        return f", field line: it says what has happened, and is one of {', '.join(EXAMPLES)}"
    where = path.strip("`.")
    if message.startswith("Invalid enum value") and where in _VALUES:
        message = f"it is {_VALUES[where]}"
    return f"{f', field {where}' if where else ''}: {message}; right would be {right}"
