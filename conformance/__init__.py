"""A conformance suite for checkpointing and recovery of stream processors.

ARCHITECTURE.md names the rooms and says which may import which.
"""

__version__ = "0.1.0"
