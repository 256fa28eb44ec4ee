"""The driver defines steps, rules, ledgers and drains, and it performs, judges and drains each run.

It names no component. All engines read the same declarations of steps. They differ in how they choose steps, and never
in what a step means.
"""

from conformance.driver.component import Bound, Component, Components, Defined, Outcomes, Shape, Turned, find_components
from conformance.driver.drain import Drain, Each, End, Once, While
from conformance.driver.judgement import Broken, FailureClass, Judgement, Kind, Level, Unsure, Verdict
from conformance.driver.ledger import BROKEN, FAILING, NEXT_CALL, Faults, PortLedger
from conformance.driver.levels import Levels
from conformance.driver.own_rules import (
    ANSWERS,
    COMES_TO_AN_END,
    NO_DEADLOCK,
    NO_LOCK_MEANWHILE,
    OF_THREADS,
    ONE_ORDER,
    answers_property,
    thread_properties,
)
from conformance.driver.program import Log, Move, Program
from conformance.driver.rule import DocstringsNeeded, Property, Rules, Shared, shared
from conformance.driver.run import Run, run_scenario
from conformance.driver.setting import Evidence, Never, Setting, Settings
from conformance.driver.step import (
    DISABLED,
    FINISH,
    NO_OPERANDS,
    RUN,
    AnyStep,
    Operands,
    Seen,
    Step,
    Steps,
    always,
)
from conformance.driver.violation import Interrupt, Violation, as_error, unexpected
from conformance.driver.world import World
from conformance.scheduling import with_article

__all__ = [
    "ANSWERS",
    "BROKEN",
    "COMES_TO_AN_END",
    "DISABLED",
    "FAILING",
    "FINISH",
    "NEXT_CALL",
    "NO_DEADLOCK",
    "NO_LOCK_MEANWHILE",
    "NO_OPERANDS",
    "OF_THREADS",
    "ONE_ORDER",
    "RUN",
    "AnyStep",
    "Bound",
    "Broken",
    "Component",
    "Components",
    "Defined",
    "DocstringsNeeded",
    "Drain",
    "Each",
    "End",
    "Evidence",
    "FailureClass",
    "Faults",
    "Interrupt",
    "Judgement",
    "Kind",
    "Level",
    "Levels",
    "Log",
    "Move",
    "Never",
    "Once",
    "Operands",
    "Outcomes",
    "PortLedger",
    "Program",
    "Property",
    "Rules",
    "Run",
    "Seen",
    "Setting",
    "Settings",
    "Shape",
    "Shared",
    "Step",
    "Steps",
    "Turned",
    "Unsure",
    "Verdict",
    "Violation",
    "While",
    "World",
    "always",
    "answers_property",
    "as_error",
    "find_components",
    "run_scenario",
    "shared",
    "thread_properties",
    "unexpected",
    "with_article",
]  # fmt: skip
