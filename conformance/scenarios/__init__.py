"""Scenarios and histories: what was tried and what was seen, as data.

Everything that searches produces scenarios; everything that judges, reduces, compares, draws or reports consumes them.
Both are JSON, readable in any language, with a published schema (`*.schema.json` in this folder).
"""

from conformance.scenarios.codec import (
    SchemaError,
    canonical,
    decode_scenario,
    encode_history,
    encode_scenario,
    scenario_id,
)
from conformance.scenarios.model import SCHEMA, Entry, Finding, History, Scenario, Step, Vocabulary

__all__ = [
    "SCHEMA",
    "Entry",
    "Finding",
    "History",
    "Scenario",
    "SchemaError",
    "Step",
    "Vocabulary",
    "canonical",
    "decode_scenario",
    "encode_history",
    "encode_scenario",
    "scenario_id",
]
