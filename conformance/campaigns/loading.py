"""Reads the result of a campaign, and compares it with what it was made of, before anything in it is believed.

What is added up is compared first: scenarios, steps, verdicts, findings with their numbers, differences, lost blocks,
and what was exercised. It comes as the sum of whatever stores the outcomes of blocks, so that the comparison does not
know how they are stored. Then the result is computed again from the plan, the blocks and the outcomes that were kept
when the blocks were done, and must be the same in every field. Nothing is run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conformance.campaigns.block import happened_of
from conformance.campaigns.checking import check_scenario
from conformance.campaigns.files import FINDINGS, PLAN, RESULT, WAVES, cure, read_plan, read_with_bytes
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.merge import Sum
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.outcomes import result_of
from conformance.campaigns.plan import Plan, check_components
from conformance.campaigns.result import (
    CampaignResult,
    ComponentResult,
    ImplementationResult,
    differences_in,
    lost_in,
    name_of,
)
from conformance.campaigns.seal import is_sealed
from conformance.campaigns.waves import newest, sum_of
from conformance.driver import Component, Components, Verdict
from conformance.engines.check import verdict_if_applicable
from conformance.engines.corpus import corpus
from conformance.engines.exercise import exercise_of
from conformance.engines.tally import Tally
from conformance.scenarios import SchemaError, canonical
from conformance.scenarios.names import as_file_name


def load(folder: Path, components: Components = SEARCHED) -> CampaignResult:
    """Read the result of a campaign, and compare it with the plan and with what the blocks add up to.

    Without a plan or blocks beside it, it can only be compared with the plan that it contains, and without findings
    only with what the blocks add up to: `why_unchecked` says so.

    Raises: CampaignError if there is none; SchemaError, which names the cure, if the file is damaged, cannot be a
    result of its plan, or is not that of the blocks.
    """
    folder = Path(folder)
    path = folder / RESULT
    written, data = read_with_bytes(path, CampaignResult)
    result = replace(written, checksum="")
    check_components(result.plan, components, path)
    try:
        _check(result, components)
    except ValueError as error:
        raise SchemaError(f"{path}: this cannot be the result of a campaign: {error}. {cure(path)}") from None
    due = None
    if (folder / PLAN).exists() and (folder / WAVES).is_dir():
        plan = read_plan(folder, components)
        total = sum_of(folder, plan, newest(folder, plan), components)
        try:
            _check_against(result, plan, total, bool(written.checksum))
        except ValueError as error:
            raise SchemaError(f"{path}: this is not what the blocks add up to: {error}. {cure(path)}") from None
        if (folder / FINDINGS).is_dir():
            due = result_of(plan, total, Kept(folder, plan, components).concluded(total))
    if written.checksum and not is_sealed(data):
        raise SchemaError(f"{path}: the checksum is not that of the file, which is damaged or changed. {cure(path)}")
    if due is not None and (where := _unlike(_form(result), _form(due))) is not None:
        raise SchemaError(
            f"{path}: this is not what the blocks and the files in {FINDINGS} come to: {where}. {cure(path)}"
        )
    return result


def why_unchecked(folder: Path) -> str | None:
    """Return why the result in a folder cannot be compared with what it was made of, in a sentence; None if it can."""
    if not (folder / PLAN).exists():
        return f"There is no {PLAN} beside this result, so it was not compared with anything."
    if not (folder / WAVES).is_dir():
        return f"There are no {WAVES} beside this result, so it was not compared with them."
    if not (folder / FINDINGS).is_dir():
        return (
            f"There are no {FINDINGS} beside this result, so the scenarios, words and causes of its findings were not "
            "compared with anything."
        )
    return None


def _check(result: CampaignResult, components: Components) -> None:
    """Raise a ValueError if a name in a result is none of its plan, or could not be part of a path."""
    if tuple(one.name for one in result.implementations) != result.plan.implementations:
        raise ValueError("it has other implementations than its plan")
    for one in result.implementations:
        for part in one.components:
            if part.component not in result.plan.components:
                raise ValueError(f"the plan has no component {part.component!r}")
            component = components[part.component]
            _check_counts(part, result.plan, component)
            for finding in part.findings:
                as_file_name(finding.property)
                check_scenario(finding.scenario, component, components)
        _check_causes(one)


def _check_causes(one: ImplementationResult) -> None:
    """Raise a ValueError if the causes do not name each finding once, or do not have a reason for each."""
    if one.causes is None:
        return
    named = Counter(name for cause in one.causes for name in cause.findings)
    found = Counter(name_of(part.component, finding) for part in one.components for finding in part.findings)
    if named != found or any(times > 1 for times in named.values()):
        raise ValueError(f"the causes of {one.name} do not name each of its findings once")
    for cause in one.causes:
        if len(cause.why) != len(cause.findings) - 1:
            raise ValueError(f"a cause of {one.name} has {len(cause.findings)} findings and {len(cause.why)} reasons")
        for bug in cause.resembles:
            as_file_name(bug)


def _check_counts(part: ComponentResult, plan: Plan, component: Component) -> None:
    """Raise a ValueError if there are more scenarios than the plan has, or more failures than scenarios."""
    if plan.most_scenarios is not None and part.scenarios > plan.most_scenarios:
        raise ValueError(f"{part.scenarios} scenarios of {part.component}, and the plan has {plan.most_scenarios}")
    for judged in part.properties:
        if judged.scenarios > part.scenarios:
            raise ValueError(f"{judged.slug} was exercised in {judged.scenarios} of {part.scenarios} scenarios")
    most = part.scenarios + len(corpus(component))
    for finding in part.findings:
        if finding.count > most:
            raise ValueError(f"{finding.property} failed in {finding.count} of {most} scenarios")
        if finding.steps != len(finding.scenario.steps):
            raise ValueError(f"a scenario of {finding.property} has {len(finding.scenario.steps)} steps")


def _check_against(result: CampaignResult, plan: Plan, total: Sum, of_this_version: bool) -> None:
    """Raise a ValueError, which says what is wrong, if a result is not that of a plan and of the sum of its blocks.

    The results of earlier versions lack a few fields, which are not compared then.
    """
    if result.plan != plan or result.seed != plan.seed:
        raise ValueError(f"it is the result of another plan than {PLAN} has")
    tallies = total.tallies()
    for one in result.implementations:
        parts = {part.component: part for part in one.components}
        if len(parts) != len(one.components):
            raise ValueError(f"{one.name} has a component twice")
        missing = {component for name, component in tallies if name == one.name} - set(parts)
        if missing:
            raise ValueError(f"{one.name} was run with {min(missing)}, which is missing")
        for component, part in parts.items():
            tally = tallies.get((one.name, component), Tally())
            try:
                _check_part(part, tally, of_this_version)
            except ValueError as error:
                raise ValueError(f"{one.name}, {component}: {error}") from None
    _same("differences", _forms(result.differences), _forms(differences_in(total)))
    _same("lost blocks", _forms(result.lost_blocks), _forms(lost_in(total)))


def _check_part(part: ComponentResult, tally: Tally, of_this_version: bool) -> None:
    for what in ("scenarios", "steps", "closing_steps"):
        _same(what.replace("_", " "), getattr(part, what), getattr(tally, what))
    listed = {judged.slug: judged for judged in part.properties}
    if len(listed) != len(part.properties):
        raise ValueError("a property is there twice")
    for slug in sorted({*tally.exercised, *(signature[0] for signature in tally.failures)} - set(listed)):
        raise ValueError(f"the property {slug} is missing")
    for slug, judged in listed.items():
        _same(f"scenarios of {slug}", judged.scenarios, tally.exercised.get(slug, 0))
        due = verdict_if_applicable(slug, judged.level, tally)
        was_judged = bool(judged.scenarios) or due is Verdict.FAILED
        if judged.verdict != due and (was_judged or judged.verdict is not Verdict.NOT_APPLICABLE):
            raise ValueError(f"{slug} has the verdict {judged.verdict.value}, and the blocks have {due.value}")
    found = {
        (one.property, one.failure_class.value, one.operation): (one.count, one.first if of_this_version else None)
        for one in part.findings
    }
    owed = {
        signature: (failure.count, failure.first if of_this_version else None)
        for signature, failure in tally.failures.items()
    }
    if len(found) != len(part.findings):
        raise ValueError("a finding is there twice")
    for signature in sorted({*found, *owed}):
        _same(f"scenarios that failed with {', '.join(signature)}", found.get(signature), owed.get(signature))
    if part.exercise is not None or of_this_version:
        _same("what was exercised", part.exercise, exercise_of(tally))
    _same("what happened", part.happened, happened_of(tally))


def _same(what: str, found: object, due: object) -> None:
    if found != due:
        raise ValueError(f"{what}: {_shown(found)}, and the blocks have {_shown(due)}")


def _shown(value: object) -> str:
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return f"{len(value)}"
    if isinstance(value, tuple):
        return f"{value[0]}" if value[1] is None else f"{value[0]}, first number {value[1]}"
    return "none" if value is None else f"{value}" if isinstance(value, int) else "something else"


def _unlike(found: Any, due: Any, at: str = "") -> str | None:
    """Return where two values in their JSON form differ first, in a few words; None if they are equal."""
    if isinstance(found, dict) and isinstance(due, dict):
        for key in sorted({*found, *due}):
            place = f"{at}.{key}" if at else key
            if key not in found or key not in due:
                return f"{place} is {'missing' if key in due else 'there'}"
            if (where := _unlike(found[key], due[key], place)) is not None:
                return where
        return None
    if isinstance(found, list) and isinstance(due, list) and len(found) == len(due):
        places = (_unlike(*both, f"{at}[{number}]") for number, both in enumerate(zip(found, due, strict=True)))
        return next((where for where in places if where is not None), None)
    return None if found == due and type(found) is type(due) else f"{at} is another"


def _form(result: CampaignResult) -> Any:
    return json.loads(canonical(result))


def _forms(values: Iterable[Any]) -> tuple[str, ...]:
    """Return values in their written form, in which lists and tuples are alike."""
    return tuple(map(canonical, values))
