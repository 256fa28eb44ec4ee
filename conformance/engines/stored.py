"""Audits the channel state that was stored in a folder."""

from __future__ import annotations

from pathlib import Path

from conformance.ports import Implementation, UnusableImplementation
from conformance.state_files import StateAudit, audit


def audit_folder(folder: Path, implementation: Implementation | None) -> StateAudit:
    """Read a folder in the format of the suite, or in that of an implementation.

    Raises: UnusableImplementation if the implementation cannot read a folder; OSError if the folder cannot be read.
    """
    if implementation is None:
        return audit(folder)
    try:
        found = implementation.audit(folder)
    finally:
        implementation.close()
    if found is None:
        raise UnusableImplementation(
            f"{implementation.name} cannot read channel state: its method `audit` answers None. "
            "Without --implementation, the folder is read in the format of the suite"
        )
    return found
