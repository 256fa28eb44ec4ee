"""Scenarios and histories: which steps were tried and what was observed, as data.

Searches produce scenarios; replay, the reducer, comparisons, diagrams and reports read them. Both are stored as JSON,
which any language can read, with a published schema (`*.schema.json` in this folder).
"""

from conformance.scenarios.codec import (
    canonical,
    decode_scenario,
    encode_history,
    encode_scenario,
    scenario_id,
)
from conformance.scenarios.model import (
    MOST_SCENARIO_BYTES,
    MOST_STEPS,
    SCHEMA,
    Entry,
    Finding,
    History,
    Scenario,
    Step,
    Vocabulary,
)
from conformance.scenarios.reading import SchemaError, read_text, read_toml

__all__ = [
    "MOST_SCENARIO_BYTES",
    "MOST_STEPS",
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
    "read_text",
    "read_toml",
    "scenario_id",
]
