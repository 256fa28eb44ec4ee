"""Reduces a failure of a campaign to a finding: one function of the plan, a case and a budget, for every runner.

A case is what the newest sum has of one signature of one implementation. It is reduced alone, so that the finding
depends neither on the process that reduces it nor on what was reduced before, and cases may be reduced anywhere and in
any order.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from conformance.campaigns.block import FailureRecord, decode, decode_failure, programs_of
from conformance.campaigns.merge import Sum
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord, record_of
from conformance.campaigns.plan import Plan
from conformance.driver import FailureClass, Program, run_scenario
from conformance.engines.apart import Apart
from conformance.engines.audit import OPERATION as AUDIT
from conformance.engines.check import Found, reduce_failures
from conformance.engines.check_apart import ApartCheck
from conformance.engines.lasting import STARTS
from conformance.engines.tally import Failure, Signature, Tally
from conformance.ports import Implementation, UnusableImplementation
from conformance.scenarios import Finding
from conformance.system.writing import told_by

DIED = "the process that reduced it died each time"


class Case(Struct, frozen=True):
    """The failures of one implementation in one component that have one signature."""

    implementation: str
    component: str
    failure: FailureRecord
    """With the shortest scenario, which is reduced."""

    @property
    def signature(self) -> Signature:
        """The signature of the failures, which that of the reduced scenario is, too."""
        return self.failure.property, self.failure.failure_class, self.failure.operation


def longest_first(cases: Iterable[Case], total: Sum) -> list[Case]:
    """Return cases in an order in which no core waits long at the end. No finding depends on the order.

    What a run takes is estimated from the seconds that a step of the component took the implementation in the search.
    """
    tallies = total.tallies()

    def cost(case: Case) -> float:
        tally = tallies.get((case.implementation, case.component))
        seconds = total.seconds.get((case.component, case.implementation), 0.0)
        return seconds / tally.steps * len(case.failure.scenario.steps) if tally is not None and tally.steps else 0.0

    def order(case: Case) -> tuple[object, ...]:
        return -cost(case), -len(case.failure.scenario.steps), case.implementation, case.component, case.signature

    return sorted(cases, key=order)


class Reducer:
    """Reduces cases one after the other in this process; implementations that are not the suite's own, in a worker."""

    def __init__(self, plan: Plan, names: Names, budget: int) -> None:
        """`budget`: how many runs a reduction may take."""
        self._plan, self._names, self._budget = plan, names, budget
        self._ours: dict[str, Implementation] = {}

    def reduce(self, case: Case) -> FindingRecord:
        """Return the finding. If the reduction fails, its scenario is as it was found, and it says so.

        Raises: UnusableImplementation; NotWritten.
        """
        signature, failure = decode_failure(case.failure, self._names.components)
        try:
            with _Used(self, case.implementation) as implementation:
                if self._plan.of_episodes:
                    from conformance.campaigns.episodes import looked_at

                    return looked_at(self._plan, case.implementation, implementation, signature, failure, self._budget)
                found = self._reduced(self._program(implementation, case), signature, failure)
        except UnusableImplementation:
            raise
        except (Exception, SystemExit) as error:
            if (refused := told_by(error)) is not None:
                raise refused from error
            return self.as_found(case, f"{type(error).__name__}: {error}")
        return record_of(self._plan, case.implementation, failure, found, None if found.complete else self._budget)

    def as_found(self, case: Case, why: str) -> FindingRecord:
        """Return the finding with the scenario as it was found, and with the reason why it was not reduced."""
        signature, failure = decode_failure(case.failure, self._names.components)
        found = found_unreduced(case.implementation, signature, failure, f" (not reduced: {why})")
        return record_of(self._plan, case.implementation, failure, found, self._budget)

    def confirm(self, case: Case, finding: FindingRecord) -> FindingRecord:
        """Run the scenario of a finding again, and return the finding; if it fails in another way now, it says so.

        A hang is not run again, nor is a scenario whose runs differ. Raises: UnusableImplementation.
        """
        if finding.failure_class is FailureClass.HUNG or finding.operation == AUDIT:
            return finding
        try:
            with _Used(self, case.implementation) as implementation:
                shown = self._shown(self._program(implementation, case), finding, case.signature)
        except UnusableImplementation:
            raise
        except (Exception, SystemExit) as error:
            shown = f"it ends with {type(error).__name__}: {error}"
        if shown is None:
            return finding
        return unconfirmed(finding, f"run again in another process, {shown}")

    def close(self) -> None:
        """Close the implementations."""
        for one in self._ours.values():
            one.close()
        self._ours.clear()

    def _reduced(self, program: Program, signature: Signature, failure: Failure) -> Found:
        alone = Tally(failures={signature: failure})
        if isinstance(program.implementation, Apart):
            return ApartCheck(program, program.implementation, self._budget, None, with_log=False).reduced(alone)[0]
        return reduce_failures(program, alone, self._budget)[0]

    def _shown(self, program: Program, finding: FindingRecord, signature: Signature) -> str | None:
        """Return what a scenario shows in the place of a signature; None if it shows that."""
        scenario = decode(finding.scenario, self._names.components)
        found = None
        for _ in range(STARTS):  # somebody else may have killed the worker
            if isinstance(program.implementation, Apart):
                violation = program.implementation.run(program, scenario, with_log=False).violation
            else:
                violation = run_scenario(program, scenario.config, scenario.steps).violation
            found = None if violation is None else violation.signature
            if found == signature:
                return None
            if found is None or found[1] != FailureClass.CRASHED.value:
                break
        return "nothing fails" if found is None else f"{found[0]} fails ({found[1]}, at {found[2]})"

    def _program(self, implementation: Implementation, case: Case) -> Program:
        every = {case.implementation: implementation}
        found = programs_of(self._plan, case.component, every, self._names.components)
        if not found:
            raise LookupError(f"{case.implementation} does not offer {case.component} any more")
        return found[case.implementation]

    def taken(self, name: str) -> Implementation:
        """Return the implementation of a name. What a stranger's leaves behind must not reach another case."""
        if name in self._ours:
            return self._ours[name]
        found = self._names.here.find(name)
        if not isinstance(found, Apart) and name not in self._plan.sought:
            self._ours[name] = found
        return found

    def left(self, name: str, found: Implementation) -> None:
        """Close an implementation that is not kept for other cases. Hundreds of known bugs would fill the memory."""
        if self._ours.get(name) is not found:
            found.close()


class _Used:
    """An implementation in a `with` block. That of a stranger is closed at its end."""

    def __init__(self, reducer: Reducer, name: str) -> None:
        self._reducer, self._name, self._found = reducer, name, reducer.taken(name)

    def __enter__(self) -> Implementation:
        return self._found

    def __exit__(self, *error: object) -> None:
        self._reducer.left(self._name, self._found)


def unconfirmed(finding: FindingRecord, why: str) -> FindingRecord:
    """Return a finding that says why it was not confirmed."""
    return replace(finding, observed=f"{finding.observed} (not confirmed: {why})")


def found_unreduced(name: str, signature: Signature, failure: Failure, remark: str = "") -> Found:
    """Return the scenario of a failure as it was found, with a remark behind what was observed."""
    scenario = replace(failure.scenario, finding=Finding(signature[0], signature[1], name))
    return Found(signature, failure.owed, f"{failure.observed}{remark}", scenario, failure.count, failure.first)
