"""What is said of capabilities that an implementation seems to have and does not claim, or claims and never used.

And of components of which nothing was put to the test, which is a matter of capabilities, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conformance.engines import Check
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


def idle_remarks(name: str, checks: Iterable[Check]) -> Iterator[Remark]:
    """Yield what is said of the components of which nothing was put to the test, although nothing failed."""
    for check in checks:
        if check.idle and check.clean and not check.interrupted:
            yield Remark(f"{name}: {idle_in_words(check)}")


def idle_in_words(check: Check) -> str:
    """Return a sentence about a component of which nothing was put to the test, with the reason if that is known."""
    program = check.program
    component = program.component
    found = f"nothing of {component.name} was put to the test in {check.tally.scenarios:,} scenarios"
    if program.configs:
        return f"{found}."
    missing = [sorted(component.needs(one) - program.capabilities) for one in component.configs]
    nearest = min(missing, key=lambda some: (len(some), some))
    return (
        f"{found}: it is not made with what is claimed in any configuration. The nearest one needs "
        f"{', '.join(nearest)}, too."
    )


def never_used_in_words(name: str, unused: Sequence[Capability]) -> str:
    """Return a sentence about capabilities that were claimed, and that no scenario has put to the test."""
    listed = ", ".join(f"`{one}`" for one in unused)
    return f"{name}: claimed and never used: {listed}. No property that needs such a capability was exercised."
