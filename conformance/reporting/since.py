"""What has changed since another campaign, such as that of the night before: findings, and what was put to the test.

Findings are compared by implementation, component and signature, and never by their scenarios: a search with another
seed finds the same failure elsewhere. Nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.campaigns import CampaignResult, ComponentResult
from conformance.driver import Kind, Verdict
from conformance.engines.tally import Signature
from conformance.reporting.counts import counted
from conformance.reporting.severity import severity
from conformance.reporting.verdicts import Remark

Key = tuple[str, str, Signature]
"""Names a finding: the implementation, the component and the signature."""
NOT_RUN = "not run this time"
_FEW = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A finding that one of two campaigns has, or both."""

    implementation: str
    component: str
    signature: Signature
    before: int | None
    """In how many scenarios the earlier campaign saw it; None: in none."""
    now: int | None
    remark: str = ""
    """Why it may be missing in one of them although nothing has changed; empty if nothing is known."""

    @property
    def key(self) -> Key:
        """The name of the finding."""
        return self.implementation, self.component, self.signature

    def __str__(self) -> str:
        slug, failure_class, operation = self.signature
        remark = f"; {self.remark}" if self.remark else ""
        return f"{self.component} {slug} {self.implementation} ({failure_class} at {operation}{remark})"


@dataclass(frozen=True, slots=True)
class Exercised:
    """A property that one of two campaigns has put to the test, and the other one has not."""

    implementation: str
    component: str
    slug: str
    situation: bool
    scenarios: int
    """In how many scenarios that campaign did."""

    def __str__(self) -> str:
        kind = ", a situation" if self.situation else ""
        return f"{self.component} {self.slug} {self.implementation} ({counted(self.scenarios, 'scenario')}{kind})"


@dataclass(frozen=True, slots=True)
class Since:
    """The changes between two campaigns. Each list of findings is sorted by severity."""

    where: str
    """The folder of the earlier campaign."""
    remarks: tuple[str, ...]
    """What a reader must know before he compares."""
    new: tuple[Change, ...]
    gone: tuple[Change, ...]
    same: tuple[Change, ...]
    exercised: tuple[Exercised, ...]
    """Put to the test now, and not before."""
    no_more: tuple[Exercised, ...]
    """Put to the test before, and not now, although it applies."""

    @property
    def in_words(self) -> str:
        """The numbers."""
        words = f"{len(self.new):,} new, {len(self.gone):,} gone, {counted(len(self.same), 'finding')} as before"
        return (
            f"{words}; newly exercised: {counted(len(self.exercised), 'property')}, "
            f"no longer exercised: {len(self.no_more):,}"
        )

    @property
    def remark(self) -> Remark:
        """What is printed. The page has a section of its own."""
        lines = [
            *(f"new {one}" for one in self.new),
            *(f"gone {one}" for one in self.gone),
            *(f"no longer exercised {one}" for one in self.no_more),
            *(f"newly exercised {one}" for one in self.exercised),
            *self.remarks,
        ]
        return Remark(f"Since {self.where}: {self.in_words}.", tuple(lines), few=_FEW, on_page=False)


def _scenarios_of(result: CampaignResult) -> tuple[object, ...]:
    """Return what decides the steps of a scenario with a number."""
    plan = result.plan
    return plan.seed, plan.implementations[:1], plan.manners, plan.aims


def since(now: CampaignResult, before: CampaignResult, where: str, unfinished: Sequence[str] = ()) -> Since:
    """Compare two campaigns. `where`: the folder of the earlier one. `unfinished`: why one of them is not whole."""
    mine, earlier = dict(_findings(now)), dict(_findings(before))
    run_now, run_before = dict(_parts(now)), dict(_parts(before))
    new, gone, same = [], [], []
    for key in {**mine, **earlier}:
        change = Change(*key, earlier.get(key), mine.get(key))
        if key not in earlier:
            new.append(_remarked(change, run_before, "not run before"))
        elif key not in mine:
            gone.append(_remarked(change, run_now, NOT_RUN))
        else:
            same.append(change)
    remarks = list(unfinished)
    if _scenarios_of(before) == _scenarios_of(now):
        remarks.append(
            f"Both campaigns have the seed {now.plan.seed}, so the scenarios of the shorter one are the same."
        )
    both = [key for key in run_now if key in run_before]
    return Since(
        where, tuple(remarks), _sorted(new), _sorted(gone), _sorted(same),
        tuple(_only(both, run_now, run_before, lambda one: True)),
        tuple(_only(both, run_before, run_now, lambda one: one is Verdict.NOT_EXERCISED)),
    )  # fmt: skip


def _parts(result: CampaignResult) -> Iterator[tuple[tuple[str, str], ComponentResult]]:
    for one in result.implementations:
        for part in one.components:
            if part.scenarios:
                yield (one.name, part.component), part


def _findings(result: CampaignResult) -> Iterator[tuple[Key, int]]:
    for one in result.implementations:
        for part in one.components:
            for finding in part.findings:
                signature = finding.property, finding.failure_class.value, finding.operation
                yield (one.name, part.component, signature), finding.count


def _remarked(change: Change, ran: dict[tuple[str, str], ComponentResult], remark: str) -> Change:
    if (change.implementation, change.component) in ran:
        return change
    return Change(change.implementation, change.component, change.signature, change.before, change.now, remark)


def _sorted(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda one: (severity(one.signature[1]), one.key)))


def _only(
    keys: Iterable[tuple[str, str]],
    one: dict[tuple[str, str], ComponentResult],
    other: dict[tuple[str, str], ComponentResult],
    counts: Callable[[Verdict], bool],
) -> Iterator[Exercised]:
    """Yield what `one` has put to the test and `other` has not, if its verdict in `other` counts."""
    for name, component in keys:
        there = {judged.slug: judged for judged in other[name, component].properties}
        for judged in one[name, component].properties:
            missing = there.get(judged.slug)
            if not judged.scenarios or (missing is not None and (missing.scenarios or not counts(missing.verdict))):
                continue
            if missing is None and not counts(Verdict.NOT_APPLICABLE):
                continue  # the suite has no such property any more
            yield Exercised(name, component, judged.slug, judged.kind is Kind.SOMETIMES, judged.scenarios)
