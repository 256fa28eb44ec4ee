"""The steps of each component, declared once, and the driver that performs them.

Every engine reads these declarations; engines differ in how they choose, never in what a step means.
"""

from conformance.alphabets.base import Alphabet, StepKind
from conformance.alphabets.catalogue import ALPHABETS, alphabet_of, vocabulary
from conformance.alphabets.violation import Violation
from conformance.alphabets.world import Run, World, run_scenario

__all__ = [
    "ALPHABETS",
    "Alphabet",
    "Run",
    "StepKind",
    "Violation",
    "World",
    "alphabet_of",
    "run_scenario",
    "vocabulary",
]
