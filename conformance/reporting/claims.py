"""What is said of capabilities that an implementation seems to have and does not claim, or claims and never used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conformance.ports import Capability
from conformance.reporting.verdicts import Remark, Tried


def unclaimed_in_words(unclaimed: Sequence[Capability]) -> str:
    """Return a text that says which capabilities to claim; empty if there are none."""
    if not unclaimed:
        return ""
    names = " or ".join(f"`{one}`" for one in unclaimed)
    which = "it" if len(unclaimed) == 1 else "what you have"
    return f"you seem to have {names}: claim {which}, and nothing is wrong in this scenario"


def claims_remarks(everybody: Iterable[Tried]) -> Iterator[Remark]:
    """Yield what is said of capabilities that implementations claim, and that were never used."""
    for one in everybody:
        if one.never_used:
            yield Remark(never_used_in_words(one.name, one.never_used))


def never_used_in_words(name: str, unused: Sequence[Capability]) -> str:
    """Return a sentence about capabilities that were claimed, and that no scenario has put to the test."""
    listed = ", ".join(f"`{one}`" for one in unused)
    return f"{name}: claimed and never used: {listed}. No property that needs such a capability was exercised."
