"""The component task-restore: a task on its way from deployment to running. Specification: task-restore.md."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.task_restore import goals, rules
from conformance.components.task_restore.ledger import Ledger
from conformance.components.task_restore.steps import DRAIN, STEPS, end_of_partition, read, restore_state, turn
from conformance.driver import FINISH, RUN, Bound, Component, Operands
from conformance.models.designs import recovers
from conformance.models.faults import WithFaults
from conformance.models.recovered_state import first_records
from conformance.ports import Recovery, TaskRestoreConfig, TaskRestorePort

OUTPUT = (1, 2)
"""The recovered records of the output."""


class TaskRestoreScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovered`: how many records are recovered in each channel; all others as in the configuration of the port."""

    recovery: Recovery = Recovery.RECOVER_FIRST
    gates: tuple[Annotated[int, Meta(ge=1, le=3)], ...] = (1, 1)
    recovered: Annotated[int, Meta(ge=0, le=4)] = 2
    unaligned: bool = True
    spill_directories: bool = True
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False
    buffers: Annotated[int, Meta(ge=1, le=64)] = 64
    output_on_downstream: bool = True
    during_recovery: bool = True


THE_INPUT_ENDS: tuple[Operands, ...] = (
    restore_state(), end_of_partition(0), read(), (RUN, "executor", "between two mails of the recovery"),
    *[turn(), (FINISH, "task")] * 3,
)  # fmt: skip
"""With data in memory and one gate that has nothing to recover: the executor stops between the mail that converts the
gate and the one that ends the restore, and the input ends."""


def _port_config(config: TaskRestoreScenarioConfig) -> TaskRestoreConfig:
    return TaskRestoreConfig(
        config.gates, _recovered(config), OUTPUT, config.recovery, config.unaligned, config.output_on_downstream,
        config.during_recovery, config.spill_directories, config.buffers,
    )  # fmt: skip


@cache
def _recovered(config: TaskRestoreScenarioConfig) -> tuple[tuple[int, ...], ...]:
    return tuple(first_records(channel, config.recovered) for channel in range(sum(config.gates)))


def _in_effect(config: TaskRestoreScenarioConfig) -> Recovery:
    enabled = config.unaligned and config.output_on_downstream and config.during_recovery
    return config.recovery if enabled else Recovery.RECOVER_FIRST


_make = TaskRestoreScenarioConfig
COMPONENT = Component(
    name="task-restore",
    port=TaskRestorePort,
    config_type=TaskRestoreScenarioConfig,
    configs=(
        *[
            one
            for recovery in (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)
            for one in (
                _make(recovery), _make(recovery, interleaving="fine"), _make(recovery, (2, 1), interleaving="fine"),
                _make(recovery, (1,)), _make(recovery, (1, 1), 0), _make(recovery, ()),
                _make(recovery, (1, 1), 0, interleaving="fine"),
                _make(recovery, (1, 1), 1, interleaving="fine"), _make(recovery, (1,), 0, interleaving="fine"),
                _make(recovery, faults=True), _make(recovery, interleaving="fine", faults=True),
                _make(recovery, unaligned=False, spill_directories=False),
            )
        ],
        *[_make(Recovery.IN_MEMORY, interleaving=one, faults=True) for one in ("whole", "fine")],
        *[_make(Recovery.PUSHED, gates, interleaving=one, faults=True)
          for gates in ((1, 1), (2,)) for one in ("whole", "fine")],
        *[
            one
            for recovery in (Recovery.RECOVER_FIRST, Recovery.PUSHED)
            for one in (_make(recovery, buffers=1), _make(recovery, (2, 1), interleaving="fine", buffers=2))
        ],
        *[
            one
            for recovery in (Recovery.IN_MEMORY, Recovery.PUSHED)
            for one in (
                _make(recovery, output_on_downstream=False), _make(recovery, during_recovery=False),
                _make(recovery, (1, 1), 1, interleaving="fine", during_recovery=False),
            )
        ],
        _make(Recovery.PUSHED, spill_directories=False),
        _make(Recovery.IN_MEMORY, spill_directories=False),
    ),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config), _in_effect(config), config.can_fail(TaskRestorePort)
    ),
    needs=lambda config: recovers(config.recovery) | recovers(_in_effect(config)) | config.needs_for_faults(),
    threads=("task", "executor", "network", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "records": Bound(("buffer",), 1),
        "ends": Bound(("end_of_partition",), 1),
        "checkpoints": Bound(("checkpoint",), 2),
        "selections": Bound(("select",), 1),
        "other": Bound(("cancel", "fail", "restore", "fault"), 0),
    },
    biases=(
        {"read": 60, "turn": 60, "cancel": 1},
        {"checkpoint": 30, "persisted": 16},
        {"end_of_partition": 30, "buffer": 4},
        {"select": 16, "cancel": 6},
        {"fault": 24, "checkpoint": 20, "read": 60},
    ),
    prefixes=(THE_INPUT_ENDS,),
    contains=("gate", "drainer"),
)  # fmt: skip
