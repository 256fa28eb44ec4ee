"""The folder of a campaign: what lies where, written whole or not at all, and read back with errors that help.

    DIR/plan.json                              what was asked for
    DIR/blocks/<component>-<number>.json       a block that was committed; only these count
    DIR/code.json                              the code it began with, and each that was accepted later
    DIR/driver.lock                            held by whoever runs it now
    DIR/result.json                            what came of it

A file that begins with a dot was being written when the campaign was stopped; it counts for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from conformance.campaigns.block import BlockResult
from conformance.campaigns.errors import CampaignError
from conformance.campaigns.plan import Block, Plan, check_components
from conformance.driver import Components
from conformance.scenarios import SchemaError, canonical

PLAN = "plan.json"
CODE = "code.json"
RESULT = "result.json"
BLOCKS = "blocks"

T = TypeVar("T", bound=Struct)


def claim(folder: Path) -> None:
    """Make the folder of a new campaign. Raises: CampaignError if there is something in it already."""
    if folder.is_dir() and any(folder.iterdir()):
        what = "a campaign" if (folder / PLAN).exists() else "other files"
        raise CampaignError(
            f"{folder} is not empty: it holds {what}, and a new campaign overwrites nothing. "
            "Name a folder that does not exist yet, or move this one away."
        )
    try:
        (folder / BLOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made the folder of a campaign: {error.strerror}.") from None


def give_up(folder: Path) -> None:
    """Take back what `claim` and the plan left in a folder in which nothing was run, so that it can be used again."""
    for name in (PLAN, CODE):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # not empty, so somebody else uses it
        (folder / BLOCKS).rmdir()
        folder.rmdir()


def write(path: Path, content: Struct) -> None:
    """Write canonical JSON: at every moment, the whole file is there or nothing of it."""
    beside = path.with_name(f".{path.name}.part")
    with beside.open("wb") as file:
        file.write(canonical(content).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())  # before the name exists: after a power cut, a named file must not be empty
    os.replace(beside, path)


def read(path: Path, kind: type[T]) -> T:
    """Read what `write` wrote.

    Raises: CampaignError if there is no such file; SchemaError, which names file and field, if it is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        ended = f"Is {path.parent} the folder of a campaign that has ended?"
        raise CampaignError(f"{path} does not exist. {ended}") from None
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{path}: {error}. It was changed, or written by another version of this suite.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"{path}: this is not JSON ({error}; the file has {len(data)} bytes); the file is damaged or was cut off."
        ) from None


def read_plan(folder: Path, components: Components) -> Plan:
    """The plan of a campaign.

    Raises: CampaignError if there is none, or it names a component that there is not; SchemaError if it is damaged.
    """
    path = folder / PLAN
    plan = read(path, Plan)
    check_components(plan, components, path)
    return plan


def commit(folder: Path, result: BlockResult) -> None:
    """Make the result of a block count. Committing it again changes nothing: it is the same bytes."""
    write(_path(folder, result.block), result)


def committed(folder: Path, plan: Plan, block: Block) -> BlockResult | None:
    """The result of a block; None if it was not committed. Raises: SchemaError if the file is not what it should be."""
    path = _path(folder, block)
    if not path.exists():
        return None
    result = read(path, BlockResult)
    if (result.plan, result.block) != (plan.digest, block):
        raise SchemaError(f"{path}: this is a block of another plan than {folder / PLAN}.")
    return result


def all_committed(folder: Path, plan: Plan) -> Iterator[BlockResult]:
    """Every block that lies there, in no particular order of running. Raises: SchemaError."""
    for path in sorted((folder / BLOCKS).glob("[!.]*.json")):
        result = read(path, BlockResult)
        if result.plan != plan.digest:
            raise SchemaError(f"{path}: this is a block of another plan than {folder / PLAN}.")
        yield result


def tidy(folder: Path) -> None:
    """Remove what was being written when the campaign was stopped. Only whoever holds the folder may."""
    for path in (*folder.glob(".*.part"), *(folder / BLOCKS).glob(".*.part")):
        path.unlink(missing_ok=True)


def _path(folder: Path, block: Block) -> Path:
    return folder / BLOCKS / f"{block.name}.json"
