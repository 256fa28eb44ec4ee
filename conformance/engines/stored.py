"""Audits the channel state that was stored in a folder, which may come from a stranger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.ports import Implementation, UnusableImplementation
from conformance.scenarios.reading import MOST_BYTES, Misshapen, Unreadable, decode_json
from conformance.state_files import VERSION, Damaged, Homes, StateAudit, StateList, StoredState, Unread, audit_file
from conformance.system.listing import LINKED, Closed, everything_below, read_listed, trouble_with

FILE, LIST = ".state", ".state.json"
"""What the names of channel state files end with, and those of their lists."""


def audit_folder(folder: Path, implementation: Implementation | None = None) -> StateAudit:
    """Read a folder in the format of the suite, or in that of an implementation.

    Raises: UnusableImplementation if the implementation cannot read a folder; OSError if the folder cannot be read.
    """
    if implementation is None:
        return _audit(folder)
    try:
        found = implementation.audit(folder)
    finally:
        implementation.close()
    if found is None:
        raise UnusableImplementation(
            f"{implementation.name} cannot read channel state: its method `audit` returns None. "
            "Without --implementation, the folder is read in the format of the suite"
        )
    return found


def _audit(folder: Path) -> StateAudit:
    """Read every file in a folder and in those below it."""
    if not folder.is_dir():
        raise NotADirectoryError(20, "this is not a folder", str(folder))
    everything, closed, linked = everything_below(folder)
    lists = [path for path in everything if path.name.endswith(LIST)]
    files = [path for path in everything if path.name.endswith(FILE)]
    found: list[StoredState] = []
    damaged: list[Damaged] = []
    homes: Homes = {}
    for path in lists:
        for one in _audit_listed(path, str(path.relative_to(folder)), homes):
            (found if type(one) is StoredState else damaged).append(one)  # type: ignore[arg-type]
    listed = set(lists)
    for path in files:
        if path.with_name(f"{path.name}.json") not in listed:
            name = str(path.relative_to(folder))
            trouble = trouble_with(path, MOST_BYTES)
            damaged.append(Damaged(name, trouble or "no state list stands beside this file"))
    damaged += [Damaged(str(path.relative_to(folder)), f"this folder cannot be read: {why}") for path, why in closed]
    unread = tuple(Unread(str(path.relative_to(folder)), LINKED) for path in linked)
    return StateAudit(len(files), tuple(found), tuple(damaged), unread=unread)


def _audit_listed(path: Path, name: str, homes: Homes) -> Iterator[StoredState | Damaged]:
    """Audit the file of which `path` is the list. `name` stands for the list."""
    file = path.with_name(path.name.removesuffix(".json"))
    try:
        states = decode_json(read_listed(path, MOST_BYTES), StateList)
    except (Closed, Misshapen, Unreadable) as error:
        yield Damaged(name, f"this is no state list: {error}")
        return
    if states.version != VERSION or states.file != file.name:
        yield Damaged(name, f"the list of {file.name} must have version {VERSION} and name this file")
        return
    name = name.removesuffix(".json")
    try:
        data = read_listed(file, MOST_BYTES)
    except Closed as error:
        yield Damaged(name, f"{error}; its state list is there")
        return
    yield from audit_file(name, data, states, homes)
