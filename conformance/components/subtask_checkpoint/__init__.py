"""The component subtask-checkpoint: the part of one task in its checkpoints. Specification: subtask-checkpoint.md."""

from __future__ import annotations

from typing import Literal

from conformance.components.subtask_checkpoint import goals, rules
from conformance.components.subtask_checkpoint.ledger import Ledger
from conformance.components.subtask_checkpoint.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.barriers import TIMEOUT
from conformance.models.faults import WithFaults
from conformance.ports import Capability, SubtaskCheckpointConfig, SubtaskCheckpointPort


class SubtaskCheckpointScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`unaligned`: whether the job has unaligned checkpoints, which begin aligned if they are timeoutable."""

    unaligned: bool = True
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


_make = SubtaskCheckpointScenarioConfig
COMPONENT = Component(
    name="subtask-checkpoint",
    port=SubtaskCheckpointPort,
    config_type=SubtaskCheckpointScenarioConfig,
    configs=(*[_make()] * 6, _make(unaligned=False), *[_make(faults=True)] * 3, _make(unaligned=False, faults=True)),
    port_config=lambda config: SubtaskCheckpointConfig(TIMEOUT),
    make_ledger=lambda config, capabilities: Ledger(
        config.unaligned, config.can_fail(SubtaskCheckpointPort), Capability.SAYS_HOW_TAKEN in capabilities
    ),
    needs=lambda config: config.needs_for_faults(),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "checkpoints": Bound(("start_inputs",), 2),
        "alignments": Bound(("start_inputs",), 3, variants=True),
        "given-up": Bound(("decline", "abort"), 1),
        "which-given-up": Bound(("decline", "abort"), 1, variants=True),
        "inputs": Bound(("inputs_done", "inputs_failed"), 1),
        "final": Bound(("finish_part",), 3),
        "failed": Bound(("fail_part",), 0),
        "how-failed": Bound(("fail_part",), 1, variants=True),
        "runs": Bound(("run_async",), 1),
        "told": Bound(("complete",), 1),
        "time": Bound(("advance",), 0),
        "how-taken": Bound(("aligned", "state_written"), 0),
        "other": Bound(("cancel", "fail", "restore", "fault"), 0),
    },
    biases=(
        {"finish_part": 80, "run_async": 40, "abort": 1},
        {"abort": 20, "decline": 12},
        {"advance": 30},
        {"run_async": 1, "start_inputs": 40},
    ),
)
