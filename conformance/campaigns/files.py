"""Reads and writes the folder of a campaign.

    DIR/plan.json       the plan
    DIR/waves/          what was run: only committed waves count (see `waves`)
    DIR/findings/       what was found out when the blocks were done (see `kept_outcomes`)
    DIR/evidence/       the folders of episodes that failed (see `episodes`)
    DIR/code.json       the code at the start, and each changed code that was accepted later
    DIR/runner.json     the kind of the runner at the start, for a later resumption of the campaign
    DIR/driver.lock     locked by the process that runs the campaign
    DIR/result.json     the result

A file whose name begins with a dot was incomplete when the campaign was stopped. Such files are ignored.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from conformance.campaigns.errors import CampaignError
from conformance.campaigns.lock import LOCK
from conformance.campaigns.plan import Plan, check_components
from conformance.campaigns.seal import Sealed, sealed
from conformance.driver import Components
from conformance.scenarios import SchemaError, canonical
from conformance.scenarios.reading import Misshapen, Unreadable, decode_json, read_bytes
from conformance.system.writing import NotWritten, make_folder, write_bytes

if TYPE_CHECKING:
    from conformance.campaigns.result import CampaignResult

PLAN = "plan.json"
CODE = "code.json"
RUNNER = "runner.json"
RESULT = "result.json"
WAVES = "waves"
WAVE = "wave.json"
FINDINGS = "findings"
EVIDENCE = "evidence"
REDUCTION = "reduction.json"
RESULTS = "results"
"""Where `kept_works` keeps the results of works."""
FORMER = "blocks"
"""Where earlier versions wrote each block as a file."""

T = TypeVar("T", bound=Struct)


def make(folder: Path) -> None:
    """Make the folder of a new campaign.

    Raises: CampaignError if it is not empty or can be no folder; NotWritten if the machine refuses to make it.
    """
    check_empty(folder)
    try:
        make_folder(folder)
    except NotWritten:
        raise
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made the folder of a campaign: {error.strerror}.") from None


def check_empty(folder: Path) -> None:
    """Raise a CampaignError if there is anything in a folder but what a driver leaves that is killed at once."""
    if folder.is_dir() and any(path.name not in (LOCK, _beside(folder / PLAN).name) for path in folder.iterdir()):
        what = "a campaign" if (folder / PLAN).exists() else "other files"
        raise CampaignError(
            f"{folder} is not empty: it holds {what}, and a new campaign does not overwrite files. "
            "Name a folder that does not exist yet, or move this one away."
        )


def give_up(folder: Path) -> None:
    """Remove the files and the folder of a campaign that ran no block. The caller holds the lock, and ends then."""
    for name in (PLAN, CODE, RUNNER):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # there is something else in the folder, so it stays
        shutil.rmtree(folder / WAVES, ignore_errors=True)  # nothing in it was committed
        (folder / LOCK).unlink()
        folder.rmdir()


def own(folder: Path, name: str) -> Path:
    """Return the path of what a driver writes in its folder.

    Raises: CampaignError if it is a link, since its author decides where it leads.
    """
    path = folder / name
    if path.is_symlink():
        raise CampaignError(f"{path} is a link out of the folder of the campaign, and nothing is written there.")
    return path


def write(path: Path, content: Struct) -> None:
    """Write canonical JSON. A reader never sees an incomplete file. Raises: NotWritten."""
    _write(path, canonical(content).encode() + b"\n")


def write_result(folder: Path, result: CampaignResult) -> None:
    """Write the result of a campaign, with its checksum. Raises: NotWritten."""
    _write(folder / RESULT, sealed(result))


def write_sealed(folder: Path, path: Path, content: Sealed) -> None:
    """Write a file with a checksum into a folder of a campaign, which is made if it is not there.

    Raises: NotWritten; CampaignError if a folder on the way is a link.
    """
    make_room(folder, path)
    _write(path, sealed(content))


def _write(path: Path, data: bytes) -> None:
    write_bytes(path, data, _beside(path), durable=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def read(path: Path, kind: type[T]) -> T:
    """Read a file that `write` wrote.

    Raises: CampaignError if there is no such file; SchemaError, which names the file, the field and the cure, if it is
    damaged.
    """
    return read_with_bytes(path, kind)[0]


def read_with_bytes(path: Path, kind: type[T]) -> tuple[T, bytes]:
    """Read a file as `read` does, and return its bytes, too. Raises: as `read`."""
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        ended = f"Is {path.parent} the folder of a campaign, and has that campaign ended?"
        raise CampaignError(f"{path} does not exist. {ended}") from None
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return decode_json(data, kind), data
    except Misshapen as error:
        why = "Somebody changed the file, or another version of this suite wrote it"
        raise SchemaError(f"{path}: {error}. {why}. {cure(path)}") from None
    except Unreadable as error:
        raise SchemaError(f"{error.told(str(path), data)}. {cure(path)}") from None


def cure(path: Path) -> str:
    """What to do if a file of a campaign is damaged."""
    if path.parent.name == RESULTS:
        return "Delete this file, and run the same command again."
    is_finding = path.parents[1].name == FINDINGS
    is_wave = path.name == WAVE
    folder = path.parents[2] if is_finding or is_wave else path.parent
    result = folder / RESULT
    resume = f"conformance campaign resume {shlex.quote(str(folder))}"
    if is_wave or is_finding:
        what, there = (f"the folder {path.parent}", True) if is_wave else ("this file", path.exists())
        these = [one for one, is_there in ((what, there), (str(result), result.exists())) if is_there]
        again = "make it" if is_finding else "run its blocks"
        return f"Delete {' and '.join(these)}, and {again} again with: {resume}"
    if path.name == REDUCTION:
        return (
            f"Delete this file, and name the budget again with: {resume.replace(' resume ', ' reduce ', 1)} --budget N"
        )
    if path == result:
        return f"Delete this file, and add up the blocks again with: {resume}"
    return "Take it from a copy of the folder, or start the campaign again in another folder."


def read_plan(folder: Path, components: Components) -> Plan:
    """Read the plan of a campaign.

    Raises: CampaignError if there is no plan, if it names an unknown component, or if an earlier version of this suite
    ran its blocks; SchemaError if it is damaged.
    """
    path = folder / PLAN
    plan = read(path, Plan)
    check_components(plan, components, path)
    check_layout(folder)
    return plan


def tidy(folder: Path) -> None:
    """Remove the files that were incomplete when the campaign was stopped. The caller must hold the lock.

    Raises: CampaignError if a folder in which something would be removed is a link.
    """
    for home in (folder, *_below(folder, FINDINGS)):
        for path in home.glob(".*.part"):
            path.unlink(missing_ok=True)
    for home in _below(folder, EVIDENCE):
        for path in home.glob(".*"):
            shutil.rmtree(path, ignore_errors=True)


def _below(folder: Path, name: str) -> Iterator[Path]:
    """Yield the folders of the implementations, in one of the folders of a campaign.

    Raises: CampaignError if one of them is a link.
    """
    home = own(folder, name)
    for one in sorted(home.iterdir()) if home.is_dir() else ():
        if own(home, one.name).is_dir():
            yield one


def make_room(folder: Path, path: Path) -> None:
    """Make the folders for a file in the folder of a campaign.

    Raises: CampaignError if one of them is a link; NotWritten.
    """
    for name in reversed(path.relative_to(folder).parents[:-1]):
        if (one := folder / name).is_symlink():
            raise CampaignError(f"{one} is a link out of the folder of the campaign, and nothing is written there.")
    make_folder(path.parent)


def made_evidence(folder: Path) -> Path:
    """Make room for the evidence of episodes. Return the folder of the campaign as every machine finds it.

    Raises: as `make_room`.
    """
    make_room(folder, folder / EVIDENCE / PLAN)
    return folder.absolute()


def evidence_of(folder: Path, plan: Plan, implementation: str, number: int) -> Path:
    """Return where the evidence of an episode is that has failed, in the folder of a campaign."""
    return folder / EVIDENCE / str(plan.implementations.index(implementation)) / f"episode-{number:04}"


def check_layout(folder: Path) -> None:
    """Raise a CampaignError if an earlier version of this suite wrote what was run."""
    if (folder / FORMER).is_dir() and not (folder / WAVES).exists():
        raise CampaignError(
            f"An earlier version of this suite wrote the blocks in {folder / FORMER}, and this version cannot add them "
            "up. Use the earlier version, or start the campaign again in another folder. Its result, if there is one, "
            f"can be shown: conformance campaign report {folder}"
        )
