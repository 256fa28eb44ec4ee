"""A program in any language as an implementation: JSON Lines over its stdin and stdout. docs/jsonl-protocol.md."""

from conformance.bridges.jsonl.client import Client
from conformance.bridges.jsonl.implementation import JsonLinesImplementation, jsonl

__all__ = ["Client", "JsonLinesImplementation", "jsonl"]
