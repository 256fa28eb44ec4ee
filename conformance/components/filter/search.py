"""What searches and explorations of a filter begin with."""

from __future__ import annotations

from conformance.components.filter.state import FilterScenarioConfig
from conformance.driver import Bound
from conformance.ports import LEAST_PAGE, EdgeKind

_make = FilterScenarioConfig
_PAGE = LEAST_PAGE
_AROUND = (_PAGE - 1, _PAGE, _PAGE + 1)
_HASH, _REBALANCE, _GLOBAL, _CUSTOM = EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.GLOBAL, EdgeKind.CUSTOM


def _of_design(recovery: str) -> tuple[FilterScenarioConfig, ...]:
    def one(**rest: object) -> FilterScenarioConfig:
        return _make(recovery, **rest)  # type: ignore[arg-type]

    small = 64
    return (
        # rescaled by key
        one(), one(sizes=(25, 17)), one(interleaving="fine"), one(scale=(7, 2), sizes=(17, 25)),
        one(scale=(7, 2), subtask=1, watermarks="all", cut=20, records=1), one(scale=(2, 7), subtask=3, sizes=(25,)),
        one(scale=(2, 7), subtask=6, producers=(2, 1), cut=19, interleaving="fine"), one(scale=(4, 2), sizes=(17, 40)),
        one(scale=(3, 2), subtask=1, producers=(2, 3), sizes=(25, 30), cut=22),
        one(scale=(2, 7), subtask=3, keep="none"),
        one(keep="none", watermarks="all", idle="one"), one(keep="all", producers=(3, 2), records=1, cut=3),
        # nothing near it, or only its producers
        one(scale=(2, 2), subtask=1, rescaled=False, producers=(2, 2), sizes=(17, 25), markers=True, watermarks="all",
            idle="one", cut=30),
        one(scale=(1, 1), rescaled=False, sizes=(_PAGE + 1, 17), records=3, buffers=1),
        one(scale=(2, 2), rescaled=False, interleaving="fine", buffers=2, cut=9),
        one(scale=(2, 2), subtask=1, producers=(3, 2), watermarks="all", cut=12),
        # other partitioners
        one(kinds=(_REBALANCE,), scale=(7, 2), subtask=1), one(kinds=(_GLOBAL,), scale=(3, 2), cut=18),
        one(kinds=(_CUSTOM,), scale=(3, 2), records=3), one(kinds=(_CUSTOM,), scale=(2, 7), subtask=2, records=4,
            sizes=(17, 25), cut=30),
        one(kinds=(_CUSTOM,), scale=(2, 3), subtask=1, records=3, interleaving="fine", buffers=2),
        one(kinds=(_HASH, _REBALANCE), scale=(3, 2), subtask=1, records=1, watermarks="all"),
        one(kinds=(_GLOBAL, _HASH), scale=(2, 3), subtask=1, sizes=(25,), cut=40, idle="all"),
        # watermarks, statuses, markers
        one(watermarks="all", sizes=(25,)),
        one(watermarks="all", idle="one", records=1, interleaving="fine", buffers=2),
        one(idle="all", records=1, interleaving="fine", markers=True, cut=30),
        one(watermarks="all-but-one", idle="one", sizes=(25, 17)),
        one(idle="for-good", records=1),
        one(idle="all", markers=True, records=1, cut=30), one(watermarks="all", empty=1, idle="one", records=1),
        one(watermarks="all", idle="all", markers=True, producers=(2, 1), scale=(2, 3), subtask=1, records=1),
        # large records, small pools
        one(sizes=(_PAGE, 17), buffers=2), one(sizes=_AROUND, records=3, buffers=2), one(sizes=(3 * _PAGE + 5, 25),
            buffers=1), one(sizes=(2 * _PAGE + 1,), buffers=1, cut=_PAGE + 9, interleaving="fine"),
        one(buffers=1, sizes=(25, 17), cut=27, producers=(2, 2)), one(buffers=1, interleaving="fine", sizes=(25, 17)),
        one(sizes=(3 * _PAGE,), page=2 * _PAGE, buffers=2, segment=_PAGE), one(segment=40, records=3, sizes=(17, 25)),
        # partial records in files
        one(partial_in_memory=small, sizes=(110, 17), cut=80), one(partial_in_memory=small, sizes=(_PAGE + 300, 300),
            buffers=1), one(partial_in_memory=small, sizes=(500,), files=True, segment=_PAGE, records=1),
        # what is damaged, unknown or not accepted
        one(missing=15), one(missing=21, sizes=(25,), cut=30), one(missing=23, sizes=(25,)),
        one(missing=18, sizes=(17, 25), interleaving="fine"),
        one(unknown="channel"), one(unknown="channel", records=1, interleaving="fine"),
        one(unknown="subtask", records=1),
        one(unknown="subtask", records=1, interleaving="fine"),
        one(unknown="gate", kinds=(_HASH, _GLOBAL), subtask=1, records=1), one(page=100), one(page=5000, records=1),
        # faults
        *[
            one(faults=True, **rest)
            for rest in 2 * (
                {"sizes": (25, 17), "cut": 30}, {"records": 6, "keep": "all", "buffers": 2},
                {"interleaving": "fine", "buffers": 2, "sizes": (25, 17)},
                {"sizes": (_PAGE + 300, 17), "buffers": 2, "partial_in_memory": small, "segment": _PAGE},
                {"kinds": (_CUSTOM,), "records": 3, "sizes": (30, 300), "partial_in_memory": small, "segment": 20},
                {"scale": (2, 2), "rescaled": False, "cut": 9},
                {"interleaving": "fine", "sizes": (3 * _PAGE,), "buffers": 1, "segment": 20,
                 "partial_in_memory": small},
            )
        ],
    )  # fmt: skip


CONFIGS = tuple(one for recovery in ("in-memory", "pushed", "recover-first") for one in _of_design(recovery))
"""The configurations that a search draws from: the same for each design."""

EXPLORED = _make(scale=(3, 2), sizes=(25,), records=1, buffers=1, keep="all", interleaving="fine")
"""Two virtual channels, each with a record, of which three chunks are read; one of them is filtered."""

BOUNDS = {
    "requests": Bound(("request_before_filter",), 0),
    "checkpoints": Bound(("checkpoint",), 1),
    "looks": Bound(("before_filter", "partial", "resources"), 0),
    "variants": Bound(("read",), 2, variants=True),
    "other": Bound(("fail", "restore", "fault", "cancel"), 0),
}

BIASES = (
    {"read": 120, "take": 10, "end": 40},
    {"read": 120, "take": 90, "recycle": 6},
    {"read": 90, "request_before_filter": 20, "before_filter": 20, "request_before_filter (in use)": 30},
    {"read": 120, "end": 60, "checkpoint": 40, "drain": 40},
    {"read": 60, "cancel": 4, "fail": 4, "resources": 20},
    {"read": 120, "partial": 60, "resources": 30},
    {"read": 90, "fault": 20, "take": 40},
    {"read": 200, "end": 300, "fault": 40, "checkpoint": 60, "drain": 2, "take": 2, "resources": 1, "before_filter": 1},
)
