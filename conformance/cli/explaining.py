"""`conformance explain`: why a property was not exercised."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from textwrap import wrap

import click

from conformance import reporting
from conformance.cli.guarding import followed, guarded
from conformance.cli.options import (
    assume_option,
    capabilities_of,
    check_components,
    component_option,
    in_process_option,
    memory_option,
    notes,
    offered_of,
    out,
    seed_option,
    step_seconds_option,
)
from conformance.components import COMPONENTS
from conformance.driver import Program, Property
from conformance.engines.apart import find, is_ours
from conformance.engines.checking import check_any
from conformance.engines.tally import Tally
from conformance.engines.unexercised import Limited, explanation, share
from conformance.ports import Implementation, Limits, find_implementation, offered_components
from conformance.reporting.status import CONFORMS

REFERENCES = ("reference", "reference-in-memory", "reference-recover-first")
"""The references that are asked, unless another implementation is named: one of each recovery design."""


@click.command(short_help="Say why a property was not exercised.")
@click.argument("slug", metavar="PROPERTY")
@click.option("--implementation", "name", metavar="NAME", default="reference", show_default=True)
@component_option
@click.option("--scenarios", type=click.IntRange(1), default=2000, show_default=True, help="As in `check`.")
@seed_option
@click.option(
    "--against", metavar="NAME", help="The implementation to compare with, instead of the suite's own reference."
)
@assume_option
@step_seconds_option
@memory_option
@in_process_option
def explain(
    slug: str, name: str, components: tuple[str, ...], scenarios: int, seed: str, against: str | None,
    assume: tuple[str, ...], step_seconds: float, memory: int, in_process: bool,
) -> int:  # fmt: skip
    """Say why PROPERTY was not exercised: an adapter, a capability, or too few scenarios.

    Runs the scenarios of `check` on the implementation and on the reference. It judges nothing: the exit status is 0.
    """
    check_components(components)
    assumed = capabilities_of(assume)
    limits = Limits(step_seconds, memory)
    if not in_process and against is not None and not is_ours(against):
        if (status := guarded(f"{against} or {name}", limits)) is not None:
            return status
        in_process = True  # in this child, as what it is compared with
    with closing(find(name, limits, None, in_process)) as implementation:
        for at, judged in enumerate(_meant(slug, offered_of(implementation, components))):
            program = followed(Program(COMPONENTS[judged.component], implementation, assumed))
            reference = None
            if judged.applies(program.capabilities):
                reference = _reference(judged, program, against)
            with reporting.progress_bar(notes, judged.component, scenarios * (1 if reference is None else 3)) as told:
                search = partial(_searched, seed=seed, scenarios=scenarios, told=told)
                mine = search(program, 0)
                explained = explanation(judged, program, mine)
                if reference is not None:
                    with closing(reference):
                        limited = Limited(reference, program.capabilities)
                        alike = search(followed(Program(program.component, limited)), 1)
                        whole = search(followed(Program(program.component, reference)), 2)
                    explained = explanation(
                        judged, program, mine,
                        share(judged, f"{reference.name} with the same capabilities", alike),
                        share(judged, f"{reference.name} with all its capabilities", whole),
                        reference.capabilities - program.capabilities,
                    )  # fmt: skip
            for line in (*([""] if at else []), *reporting.explanation_lines(explained)):
                indent = " " * (len(line) - len(line.lstrip()))
                for part in wrap(line, out.width, subsequent_indent=indent) or [""]:
                    out.print(part, soft_wrap=True)
    return CONFORMS


def _searched(program: Program, before: int, seed: str, scenarios: int, told: Callable[[int, int], None]) -> Tally:
    """Search as `check` does, without the corpus, which adds no evidence. `before`: how many searches were made."""
    return check_any(
        program, seed, range(scenarios), lambda within: told(before * scenarios, within), corpus=False
    ).tally  # fmt: skip


def _meant(slug: str, offered: Sequence[str]) -> list[Property]:
    """Return the properties of this name. Raises: click.UsageError if there is none, with names that are near."""
    found = [one for component in offered for one in COMPONENTS[component].meant(slug)]
    if not found:
        elsewhere = [name for name, one in COMPONENTS.items() if name not in offered and one.meant(slug)]
        if elsewhere:
            raise click.UsageError(f"{', '.join(offered)}: no property {slug!r}. It is one of {', '.join(elsewhere)}.")
        known = sorted({one.slug for component in offered for one in COMPONENTS[component].properties})
        near = difflib.get_close_matches(slug, known, n=3, cutoff=0.3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise click.UsageError(f"no component has a property {slug!r}.{hint} `conformance properties` lists them all.")
    return found


def _reference(judged: Property, program: Program, against: str | None) -> Implementation | None:
    """Return the reference that has the most of what the implementation claims, or None if none has the property."""
    if against is not None:
        return find_implementation(against)
    every = [find_implementation(name) for name in REFERENCES]
    fit = [
        one for one in every if judged.applies(one.capabilities) and judged.component in offered_components(one)
    ]  # fmt: skip
    return max(fit, key=lambda one: len(one.capabilities & program.capabilities), default=None)
