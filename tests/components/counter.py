"""A component of a test's own: a counter, with its port, its ledger, its steps and rules, and a way to be wrong.

It shows what adding a component takes: a port, a ledger, steps, rules, and a line in each of two maps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from conformance.components import COMPONENTS as KNOWN
from conformance.driver import (
    DISABLED,
    NO_OPERANDS,
    Bound,
    Broken,
    Component,
    Components,
    Drain,
    FailureClass,
    Judgement,
    Once,
    PortLedger,
    Rules,
    Seen,
    Steps,
    always,
    answers_property,
)
from conformance.models.lifetime import fail_step
from conformance.ports import Answer, Capability, Implementation, KnownBug, Port, Resources
from conformance.ports.catalogue import INTERFACES as KNOWN_INTERFACES
from conformance.ports.catalogue import Interface
from conformance.ports.implementation import Factory


# ---- the port --------------------------------------------------------------------------------------------------------
class CounterConfig(Struct, frozen=True, forbid_unknown_fields=True):
    first: int = 0


class CounterPort(Port):
    @abstractmethod
    def add(self, amount: int) -> Answer[None]: ...

    @abstractmethod
    def take_back(self) -> Answer[int | None]: ...

    @abstractmethod
    def total(self) -> Answer[int]: ...


# ---- the ledger ------------------------------------------------------------------------------------------------------
class Ledger(PortLedger):
    __slots__ = ("added", "first")

    def __init__(self, first: int) -> None:
        super().__init__()
        self.begin_life("live")
        self.first = first
        self.added: list[int] = []

    def add(self, amount: int) -> None:
        self.added.append(amount)

    def take_back(self, seen: Seen[int | None]) -> None:
        if seen.value is not None:
            self.added.pop()


# ---- the steps -------------------------------------------------------------------------------------------------------
STEPS = Steps[CounterPort, Ledger]()


def amounts(ledger: Ledger) -> Sequence[tuple[int]]:
    return ((1,), (2,), (3,)) if len(ledger.added) < 8 else DISABLED


@STEPS.step("producer", ("live",), when=amounts, end=Ledger.add, weight=16)
def add(port: CounterPort, ledger: Ledger, amount: int) -> Answer[None]:
    return port.add(amount)


@STEPS.step(
    "producer", ("live",), when=lambda ledger: NO_OPERANDS if ledger.added else DISABLED, learn=Ledger.take_back
)
def take_back(port: CounterPort, ledger: Ledger) -> Answer[int | None]:
    return port.take_back()


@STEPS.step("observer", ("live", "failed"), when=always, weight=4)
def total(port: CounterPort, ledger: Ledger) -> Answer[int]:
    return port.total()


fail = fail_step(STEPS, ("live",))
DRAIN = Drain[Ledger](Once((total(),)), Once((fail(),), unless=lambda ledger: ledger.failed))

# ---- the rules -------------------------------------------------------------------------------------------------------
RULES = Rules[Ledger]("counter", answers_property("counter"))


@RULES.rule(take_back, tickets=("own",))
def what_is_taken_back_was_added_last(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """Taking back returns the amount that was added last."""
    if seen.value == ledger.added[-1]:
        return True
    return Broken(FailureClass.LOST, f"{ledger.added[-1]} was added last", f"taken back was {seen.value}")


@RULES.rule(total, tickets=("own",))
def the_total_is_the_sum_of_what_was_added(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The total is the first number and all that was added and not taken back."""
    owed = ledger.first + sum(ledger.added)
    if ledger.failed or seen.value == owed:
        return not ledger.failed
    return Broken(FailureClass.PROTOCOL, f"the total is {owed}", f"it says {seen.value}")


@RULES.goal(take_back)
def the_last_amount_was_taken_back(ledger: Ledger, seen: Seen[int | None]) -> bool:
    """Nothing was left."""
    return len(ledger.added) == 1


# ---- the component ---------------------------------------------------------------------------------------------------
class CounterScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    first: int = 0
    interleaving: Literal["whole"] = "whole"


COUNTER = Component(
    name="counter",
    port=CounterPort,
    config_type=CounterScenarioConfig,
    configs=(CounterScenarioConfig(), CounterScenarioConfig(5)),
    port_config=lambda config: CounterConfig(config.first),
    make_ledger=lambda config, capabilities: Ledger(config.first),
    steps=tuple(STEPS.all),
    properties=tuple(RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={"amounts": Bound(("add",), 3)},
)
COMPONENTS = Components("tests.components.counter:COMPONENTS", (*KNOWN.values(), COUNTER))
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {**KNOWN_INTERFACES, "counter": Interface(CounterPort, CounterConfig)}
)


# ---- implementations -------------------------------------------------------------------------------------------------
class Counter(CounterPort):
    def __init__(self, config: CounterConfig) -> None:
        self.amounts: list[int] = []
        self.first = config.first

    def add(self, amount: int) -> None:
        self.amounts.append(amount)

    def take_back(self) -> int | None:
        return self.amounts.pop() if self.amounts else None

    def total(self) -> int:
        return self.first + sum(self.amounts)

    def resources(self) -> Resources:
        return Resources(0, 0, 0, 0, 0)

    def release(self) -> None:
        self.amounts.clear()


class Forgetful(Counter):
    """The third of three equal amounts in a row is lost."""

    def add(self, amount: int) -> None:
        if self.amounts[-2:] != [amount, amount]:
            super().add(amount)


class Counting(Implementation):
    def __init__(self, counter: type[Counter] = Counter, name: str = "counting") -> None:
        self.counter, self.name = counter, name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()

    def components(self) -> Mapping[str, Factory]:
        return {"counter": self.counter}


def counting() -> Implementation:
    return Counting()


def forgetful() -> Implementation:
    return Counting(Forgetful, "forgetful")


BUG = KnownBug("B-COUNTER", "own", "counter", "the-total-is-the-sum-of-what-was-added", "An amount is lost.", forgetful)
