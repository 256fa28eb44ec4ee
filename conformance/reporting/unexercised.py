"""Says why a property was not exercised: what it needs, what was done, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.driver import Kind
from conformance.engines.unexercised import Explanation, Reason, Share
from conformance.ports import Capability
from conformance.reporting.counts import counted
from conformance.reporting.specification import rule_text, specification_reference


def explanation_lines(told: Explanation) -> list[str]:
    """Return the explanation as lines of text, the conclusion last."""
    judged = told.judged
    lines = [f"{judged.component}: {judged.slug}", f"  {judged.statement}"]
    if reference := specification_reference(judged):
        rule = rule_text(judged.component, judged.invariant)
        lines.append(f"  specification: {reference}" + (f": {rule}" if rule else ""))
    lines += ["", *_conditions(told), "", *_table(told), "", f"Why: {_why(told)}"]
    return lines


def _conditions(told: Explanation) -> Iterator[str]:
    judged = told.judged
    yield f"judged after: {', '.join(judged.on) if judged.on else 'every step'}"
    if judged.signals:
        yield f"only if one of these was signalled: {', '.join(one.__name__ for one in judged.signals)}"
    only = ["a fault has struck the operation, as `fault` arms it"] if judged.struck else []
    only += ["it was in flight when the task failed or was cancelled"] if judged.open_ended else []
    if only:
        yield f"only if {', or '.join(only)}"
    if judged.quiet:
        yield "only while no operation is in flight"
    if judged.needs:
        yield f"needs the capability: {_listed(sorted(judged.needs))}"
    for one in judged.never:
        yield f"cannot be judged in: {one.where}. {one.why}"


def _table(told: Explanation) -> list[str]:
    shares = [one for one in (told.mine, told.alike, told.whole) if one is not None]
    rows: list[tuple[str, Sequence[int]]] = [("scenarios", [one.scenarios for one in shares])]
    if len(told.mine.steps) > 1:
        rows += [(f"step {name}", [one.steps.get(name, 0) for one in shares]) for name in told.judged.on]
    rows.append(("steps after which it is judged", [sum(one.steps.values()) for one in shares]))
    rows.append(("cases in which it was judged", [one.judged for one in shares]))
    if any(one.unsure for one in shares):
        rows.append(("cases in which it was unsure", [one.unsure for one in shares]))
    rows.append(("scenarios that exercised it", [one.exercised for one in shares]))
    first = max(len(name) for name, _ in rows)
    heads = [f"({chr(ord('a') + at)})" for at in range(len(shares))]
    wide = max(len(f"{number:,}") for _, numbers in rows for number in numbers)
    lines = [f"({head[1]}) {one.who}" for head, one in zip(heads, shares, strict=True)]
    lines += ["", "  ".join((" " * first, *(head.rjust(max(wide, 3)) for head in heads)))]
    lines += [
        "  ".join((name.ljust(first), *(f"{number:,}".rjust(max(wide, 3)) for number in numbers)))
        for name, numbers in rows
    ]
    return lines


def _why(told: Explanation) -> str:
    noun = "situation" if told.judged.kind is Kind.SOMETIMES else "property"
    mine = told.mine
    match told.reason:
        case Reason.EXERCISED:
            return f"It was exercised, in {counted(mine.exercised, 'scenario')} of {mine.scenarios:,}."
        case Reason.UNTESTABLE:
            return "No search can judge it. It stands in the list because the specification promises it."
        case Reason.NOT_APPLICABLE:
            return (
                f"It needs {_listed(told.missing)}, which the implementation does not claim, so that the "
                f"{noun} does not apply. If the implementation has the feature, claim it; to judge the {noun} all the "
                f"same, call this command with {' '.join(f'--assume {one}' for one in told.missing)}."
            )
        case Reason.CUT_SHORT:
            return "The implementation crashed or hung too often, which ended the search early. Repair that first."
        case Reason.UNSURE:
            return (
                f"There was something to judge in {counted(mine.unsure, 'case')}, but each time more than one outcome "
                f"may have been right: {'; or '.join(mine.why_unsure)}. Try more scenarios (--scenarios)."
            )
        case Reason.NO_STEP:
            return (
                "The adapter. None of these steps was ever performed, as they are with the reference in the same "
                "scenarios. A step is performed only where earlier outcomes and signals allow it: compare the runs "
                "with `conformance check --against`, and look at what earlier operations return and signal."
            )
        case Reason.NO_CASE:
            return (
                f"The adapter. It performed the steps {sum(mine.steps.values()):,} times, but there was never "
                f"anything to judge. With the reference, {counted(_exercised(told.alike), 'scenario')} had something. "
                "Compare the outcomes of these steps with `conformance check --against`."
            )
        case Reason.CAPABILITY:
            return (
                "A capability. With what the implementation claims, the reference does not exercise it either. With "
                f"all that the reference claims, {counted(_exercised(told.whole), 'scenario')} did"
                f"{_settings(told.whole)}. The reference also claims {_listed(told.further)}."
            )
        case Reason.TOO_FEW:
            asked = "" if told.whole is None else " The reference does not exercise it in these scenarios either."
            return f"Too few scenarios.{asked} Try --scenarios {10 * max(mine.scenarios, 1)}, or another --seed."


def _exercised(one: Share | None) -> int:
    return 0 if one is None else one.exercised


def _settings(one: Share | None) -> str:
    """Return what all settings have in common in which the property was judged."""
    if one is None or not one.settings:
        return ""
    alike = [values[0] for values in zip(*one.settings, strict=True) if values[0] and len(set(values)) == 1]
    return f", all in the setting {', '.join(alike)}" if alike else ""


def _listed(capabilities: Sequence[Capability]) -> str:
    return ", ".join(capabilities) or "nothing else"
