"""Reads and writes the folder of a campaign.

    DIR/plan.json                              the plan
    DIR/blocks/<component>-<number>.json       a committed block; only committed blocks count
    DIR/code.json                              the code at the start, and each changed code that was accepted later
    DIR/driver.lock                            locked by the process that runs the campaign
    DIR/result.json                            the result

A file whose name begins with a dot was incomplete when the campaign was stopped. Such files are ignored.
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
from conformance.campaigns.lock import LOCK
from conformance.campaigns.plan import Block, Plan, check_components
from conformance.driver import Components
from conformance.scenarios import SchemaError, canonical

PLAN = "plan.json"
CODE = "code.json"
RESULT = "result.json"
BLOCKS = "blocks"

T = TypeVar("T", bound=Struct)


def make(folder: Path) -> None:
    """Make the folder of a new campaign. Raises: CampaignError if it is not empty or cannot be made."""
    check_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made the folder of a campaign: {error.strerror}.") from None


def check_empty(folder: Path) -> None:
    """Raise a CampaignError if there is anything in a folder but the lock of a driver."""
    if folder.is_dir() and any(path.name != LOCK for path in folder.iterdir()):
        what = "a campaign" if (folder / PLAN).exists() else "other files"
        raise CampaignError(
            f"{folder} is not empty: it holds {what}, and a new campaign does not overwrite files. "
            "Name a folder that does not exist yet, or move this one away."
        )


def give_up(folder: Path) -> None:
    """Remove the files and the folder of a campaign that ran no block. The caller holds the lock, and ends then."""
    for name in (PLAN, CODE):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # there is something else in the folder, so it stays
        (folder / BLOCKS).rmdir()
        (folder / LOCK).unlink()
        folder.rmdir()


def own(folder: Path, name: str) -> Path:
    """Return the path of what a driver writes in its folder.

    Raises: CampaignError if it is a link, since whoever made it decides where it leads.
    """
    path = folder / name
    if path.is_symlink():
        raise CampaignError(f"{path} is a link out of the folder of the campaign, and nothing is written there.")
    return path


def write(path: Path, content: Struct) -> None:
    """Write canonical JSON. A reader never sees an incomplete file."""
    beside = path.with_name(f".{path.name}.part")
    beside.unlink(missing_ok=True)
    with beside.open("xb") as file:
        file.write(canonical(content).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())  # before the renaming: after a power failure, the renamed file must not be empty
    os.replace(beside, path)


def read(path: Path, kind: type[T]) -> T:
    """Read a file that `write` wrote.

    Raises: CampaignError if there is no such file; SchemaError, which names the file and the field, if it is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        ended = f"Is {path.parent} the folder of a campaign, and has that campaign ended?"
        raise CampaignError(f"{path} does not exist. {ended}") from None
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise SchemaError(
            f"{path}: {error}. Somebody changed the file, or another version of this suite wrote it."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"{path}: this is not JSON ({error}; the file has {len(data)} bytes); the file is damaged or was cut off."
        ) from None


def read_plan(folder: Path, components: Components) -> Plan:
    """Read the plan of a campaign.

    Raises: CampaignError if there is no plan, or if it names an unknown component; SchemaError if it is damaged.
    """
    path = folder / PLAN
    plan = read(path, Plan)
    check_components(plan, components, path)
    return plan


def commit(folder: Path, result: BlockResult) -> None:
    """Write the result of a block, which makes the block count. A second commit writes the same bytes."""
    write(_path(folder, result.block), result)


def committed(folder: Path, plan: Plan, block: Block) -> BlockResult | None:
    """Return the result of a block, or None if it is not committed.

    Raises: SchemaError if the file is damaged, or if it is another block or a block of another plan.
    """
    path = _path(folder, block)
    if not path.exists():
        return None
    result = read(path, BlockResult)
    if (result.plan, result.block) != (plan.digest, block):
        raise SchemaError(f"{path}: this is a block of another plan than {folder / PLAN}.")
    return result


def all_committed(folder: Path, plan: Plan) -> Iterator[BlockResult]:
    """Yield every committed block, in the order of the file names. Raises: SchemaError."""
    for path in sorted((folder / BLOCKS).glob("[!.]*.json")):
        result = read(path, BlockResult)
        if result.plan != plan.digest:
            raise SchemaError(f"{path}: this is a block of another plan than {folder / PLAN}.")
        yield result


def tidy(folder: Path) -> None:
    """Remove the files that were incomplete when the campaign was stopped. The caller must hold the lock."""
    for path in (*folder.glob(".*.part"), *(folder / BLOCKS).glob(".*.part")):
        path.unlink(missing_ok=True)


def _path(folder: Path, block: Block) -> Path:
    return folder / BLOCKS / f"{block.name}.json"
