"""Keeps the outcomes of a campaign that come after its blocks: each is a file, written as soon as it is there.

    DIR/findings/NUMBER/implementation.json    the implementation with this number in the plan (`ImplementationRecord`)
    DIR/reduction.json                         a larger budget for reductions than the plan has (`Wanted`)
    DIR/findings/NUMBER/HASH.json              a finding of it (`FindingRecord`), by a hash of component and signature

A campaign that is stopped while it reduces goes on with the next finding. When a result is read, it is computed again
from these files, the plan and the blocks, and compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

from msgspec import Meta, Struct

from conformance.campaigns import files
from conformance.campaigns.block import Natural, decode
from conformance.campaigns.checking import check_known, check_property, check_scenario
from conformance.campaigns.files import FINDINGS
from conformance.campaigns.merge import Sum
from conformance.campaigns.outcomes import Concluded, FindingRecord, ImplementationRecord, signature_of
from conformance.campaigns.plan import SCHEMA, Plan
from conformance.campaigns.seal import is_sealed
from conformance.driver import Components
from conformance.engines.tally import Failure, Signature
from conformance.scenarios import SchemaError, canonical, scenario_id

_IMPLEMENTATION = "implementation.json"


class Wanted(Struct, frozen=True, forbid_unknown_fields=True):
    """A larger budget for reductions than the plan has. It is the content of a file."""

    plan: str
    """The digest of the plan."""
    budget: Natural
    checksum: str = ""
    """Set when the record is written."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


Record = TypeVar("Record", FindingRecord, ImplementationRecord, Wanted)


class Kept:
    """The outcomes in the folder of a campaign. The caller holds the lock if anything is kept."""

    def __init__(self, folder: Path, plan: Plan, components: Components) -> None:
        """Nothing is read or written before it is asked for."""
        self._folder, self._plan, self._components = folder, plan, components

    def known(
        self, name: str, component: str, signature: Signature, failure: Failure, budget: int
    ) -> FindingRecord | None:
        """Return the finding to which a failure was reduced before.

        None if it was not, if another scenario of it was, or if a larger budget could lead to a simpler scenario.

        Raises: SchemaError, which names the file and the cure, if it is damaged.
        """
        path = self._path(name, component, signature)
        if not path.exists():
            return None
        record = self._finding(path, name, component, signature)
        if record.of != scenario_id(failure.scenario):
            return None  # a shorter one was found since
        return None if record.budget is not None and record.budget < budget else record

    def budget(self) -> int:
        """Return how many runs a reduction may take: those of the plan, or more if more were wanted later.

        Raises: SchemaError, which names the file and the cure, if it is damaged.
        """
        path = self._folder / files.REDUCTION
        if not path.exists():
            return self._plan.budget
        return max(self._plan.budget, self._read(path, Wanted).budget)

    def want(self, budget: int) -> None:
        """Let reductions take so many runs, if that is more than before. Raises: NotWritten."""
        if budget > self.budget():
            path = files.own(self._folder, files.REDUCTION)
            files.write_sealed(self._folder, path, Wanted(self._plan.digest, budget))

    def keep_finding(self, record: FindingRecord) -> None:
        """Write a finding. Raises: NotWritten; CampaignError if a folder on the way is a link."""
        path = self._path(record.implementation, record.component, signature_of(record))
        files.write_sealed(self._folder, path, record)

    def keep_implementation(self, record: ImplementationRecord) -> None:
        """Write what an implementation is, and its findings by likely cause. Raises: as `keep_finding`."""
        files.write_sealed(self._folder, self._home(record.name) / _IMPLEMENTATION, record)

    def concluded(self, total: Sum) -> Iterator[Concluded]:
        """Yield the outcomes of every implementation, each compared with the plan and with the sum of the blocks.

        Raises: SchemaError, which names the file and the cure, if one is missing or damaged, or cannot be that of the
        blocks.
        """
        tallies = total.tallies()
        for name in self._plan.implementations:
            path = self._home(name) / _IMPLEMENTATION
            record = self._read(path, ImplementationRecord)
            if record.name != name:
                raise SchemaError(f"{path}: this is about {record.name!r}, and not {name!r}. {files.cure(path)}")
            findings = {}
            for (of, component), tally in tallies.items():
                for signature, failure in tally.failures.items() if of == name else ():
                    path = self._path(name, component, signature)
                    finding = self._finding(path, name, component, signature)
                    try:
                        _check_reduction(finding, failure, self._plan)
                    except ValueError as error:
                        raise _unlike(path, error) from None
                    findings[component, signature] = finding
            yield Concluded(record, findings)

    def _finding(self, path: Path, name: str, component: str, signature: Signature) -> FindingRecord:
        record = self._read(path, FindingRecord)
        if (record.implementation, record.component, signature_of(record)) != (name, component, signature):
            raise SchemaError(f"{path}: this is another finding than its name says. {files.cure(path)}")
        if record.id != scenario_id(decode(record.scenario, self._components)):
            raise SchemaError(f"{path}: the id is not that of the scenario. {files.cure(path)}")
        return record

    def _read(self, path: Path, kind: type[Record]) -> Record:
        if not path.exists():
            raise SchemaError(f"{path} is missing, from which {files.RESULT} was made. {files.cure(path)}")
        record, data = files.read_with_bytes(path, kind)
        if record.plan != self._plan.digest:
            raise SchemaError(f"{path}: this is of another plan than {files.PLAN} has. {files.cure(path)}")
        if not is_sealed(data):
            raise SchemaError(
                f"{path}: the checksum is not that of the file, which is damaged or changed. {files.cure(path)}"
            )
        try:
            _check_record(record, self._plan, self._components)
        except ValueError as error:
            raise _unlike(path, error) from None
        return record

    def _home(self, name: str) -> Path:
        return self._folder / FINDINGS / str(self._plan.implementations.index(name))

    def _path(self, name: str, component: str, signature: Signature) -> Path:
        key = hashlib.sha256(canonical([component, *signature]).encode()).hexdigest()[:16]
        return self._home(name) / f"{key}.json"


def _unlike(path: Path, error: ValueError) -> SchemaError:
    return SchemaError(f"{path}: this cannot be an outcome of the campaign: {error}. {files.cure(path)}")


def _check_record(record: FindingRecord | ImplementationRecord | Wanted, plan: Plan, components: Components) -> None:
    """Raise a ValueError, which says what is wrong, if this cannot be an outcome of a campaign with the plan."""
    if isinstance(record, Wanted):
        return
    if isinstance(record, ImplementationRecord):
        check_known(record.name, plan.implementations, "implementation")
        for one in record.offered:
            check_known(one.component, plan.components, "component")
        return
    check_known(record.implementation, plan.implementations, "implementation")
    check_known(record.component, plan.components, "component")
    component = components[record.component]
    check_property(record.property, component)
    check_scenario(record.scenario, component, components)
    shown = record.scenario.finding
    if shown is None or (shown.property, shown.failure_class) != (record.property, record.failure_class.value):
        raise ValueError(f"the scenario is not one of {record.property}, {record.failure_class.value}")


def _check_reduction(record: FindingRecord, failure: Failure, plan: Plan) -> None:
    """Raise a ValueError if a failure in the blocks cannot have been reduced to this."""
    if record.of != scenario_id(failure.scenario):
        raise ValueError(f"it comes from the scenario {record.of}, and the blocks have {scenario_id(failure.scenario)}")
    if plan.of_episodes:
        return  # in one that is smaller, two steps may stand for a time
    if (steps := len(record.scenario.steps)) > (most := len(failure.scenario.steps)):
        raise ValueError(f"its scenario has {steps} steps, and that in the blocks {most}")
