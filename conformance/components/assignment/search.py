"""What only searches and explorations of state assignment need: their jobs, what they prefer, and their bounds."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from conformance.components.assignment.config import AssignmentScenarioConfig
from conformance.driver import Bound
from conformance.ports import Edge, EdgeKind, Vertex

HASH, REBALANCE, SHUFFLE = EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.SHUFFLE
GLOBAL, CUSTOM, BROADCAST = EdgeKind.GLOBAL, EdgeKind.CUSTOM, EdgeKind.BROADCAST
FORWARD, RESCALE = EdgeKind.FORWARD, EdgeKind.RESCALE
_NAMES = ("source", "map", "window", "sink")


def _job(
    parallelism: tuple[int, ...], *edges: tuple[int, int, EdgeKind], most: tuple[int, ...] = (),
    to: tuple[int, ...] = (1, 2, 3, 7),
) -> AssignmentScenarioConfig:  # fmt: skip
    limits = most or (128,) * len(parallelism)
    names = (*_NAMES[: len(parallelism) - 1], _NAMES[-1])
    vertices = tuple([Vertex(*one) for one in zip(names, parallelism, limits, strict=True)])
    return AssignmentScenarioConfig(vertices, tuple([Edge(*one) for one in edges]), parallelisms=to)


def _both(jobs: Sequence[AssignmentScenarioConfig]) -> list[AssignmentScenarioConfig]:
    """Returns each job twice: with output state that is recovered downstream, and upstream."""
    return [replace(job, output_on_downstream=downstream) for job in jobs for downstream in (True, False)]


KEYED = _job((2, 2), (0, 1, HASH))
EXPLORED = _job((1, 2), (0, 1, HASH), to=(1, 2, 3), most=(4, 4))
PRIME = _job((1, 263), (0, 1, HASH), most=(1, 600), to=(1, 200, 263))
"""Where the run of key groups that Flink computes from 32,768 of them is too short."""
PRIMES = _job((1, 263, 263), (0, 1, HASH), (0, 2, HASH), most=(1, 1024, 600), to=(1, 200, 263))
"""Two keyed consumers that differ in their maximum parallelism only: a mapping of the one is wrong for the other."""
_MOST = (
    KEYED,
    _job((2, 7), (0, 1, HASH)),
    _job((3, 2), (0, 1, HASH), most=(10, 5), to=(1, 2, 5, 7)),
    _job((2, 3), (0, 1, REBALANCE)),
    _job((3, 2), (0, 1, REBALANCE)),
    _job((2, 3), (0, 1, SHUFFLE)),
    _job((2, 3), (0, 1, GLOBAL)),
    _job((2, 3), (0, 1, CUSTOM)),
    _job((2, 2), (0, 1, CUSTOM)),
    # two edges between the same vertices
    _job((2, 2), (0, 1, HASH), (0, 1, REBALANCE)),
    _job((2, 3), (0, 1, REBALANCE), (0, 1, HASH)),
    _job((2, 2), (0, 1, CUSTOM), (0, 1, HASH)),
    # edges that cannot be rescaled beside one that can
    _job((2, 2), (0, 1, BROADCAST), (0, 1, HASH)),
    _job((2, 2, 2), (0, 1, FORWARD), (0, 2, HASH)),
    _job((2, 2, 3), (0, 2, HASH), (1, 2, BROADCAST)),
    _job((2, 3, 2), (0, 1, RESCALE), (0, 2, REBALANCE)),
    _job((2, 2), (0, 1, BROADCAST)),
    # chains, and vertices without state of their own
    _job((2, 3, 2), (0, 1, HASH), (1, 2, REBALANCE)),
    _job((2, 3, 2), (0, 1, REBALANCE), (1, 2, HASH)),
    _job((1, 2, 2, 2), (0, 1, HASH), (1, 2, FORWARD), (2, 3, HASH)),
    _job((1, 2, 2, 2), (0, 1, HASH), (1, 2, FORWARD), (2, 3, REBALANCE)),
    # several inputs
    _job((2, 2, 2), (0, 2, HASH), (1, 2, HASH)),
    _job((2, 1, 3), (0, 2, CUSTOM), (1, 2, REBALANCE)),
    _job((1, 2, 2, 3), (0, 1, HASH), (0, 2, HASH), (1, 3, HASH), (2, 3, GLOBAL)),
)  # fmt: skip
CONFIGS = (*_both(_MOST * 2), *_both([PRIME, PRIMES]))
BIASES = (
    {"rescale": 70, "assign": 20, "assign (refused)": 20, "hold_input": 60},
    {"hold_output": 90, "hold_input": 10},
    {"limit": 20, "chain": 20, "assign": 24, "assign (refused)": 24},
    {"assign": 30, "assign (again)": 10, "assign (left open)": 30},
)
PREFIXES = ()
BOUNDS = {
    "state": Bound(("hold_input", "hold_output"), 2),
    "rescales": Bound(("rescale",), 2),
    "questions": Bound(("assign",), 2),
    "other": Bound(("limit", "chain", "fail", "restore"), 0),
}
