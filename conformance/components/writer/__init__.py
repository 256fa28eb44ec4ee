"""The component writer: the channel state writers of subtasks that share executors. Specification: writer.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.writer import goals, rules, spill_rules
from conformance.components.writer.ledger import Ledger
from conformance.components.writer.steps import (
    DRAIN,
    STEPS,
    add_input_from_spill,
    close,
    finish_input,
    finish_output,
    register,
    start,
)
from conformance.driver import Bound, Component, Operands
from conformance.models.designs import NOTHING, PUSHED
from conformance.models.faults import WithFaults
from conformance.ports import SPILL_FILE_READ, SPILL_FILE_READ_ON, Capability, Places, WriterConfig, WriterPort

MOST_RESULTS = 2
"""How many results a subtask can have. No scenario needs another number."""


class WriterScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`sharing`: how many subtasks share an executor and a file. `files`: whether the bytes go to real files. `spills`:
    whether input of a checkpoint can come from spill files."""

    subtasks: Annotated[int, Meta(ge=1, le=4)] = 2
    sharing: Annotated[int, Meta(ge=1, le=4)] = 2
    files: bool = False
    interleaving: Literal["whole", "fine"] = "whole"
    spills: bool = False
    faults: bool = False

    def needs(self) -> frozenset[Capability]:
        """Returns what an implementation must claim before it runs a scenario of this configuration."""
        return self.needs_for_faults() | (PUSHED if self.spills else NOTHING)

    def places(self) -> Places:
        """Returns what can fail. Spill files can only where there are some."""
        left_out = () if self.spills else (SPILL_FILE_READ, SPILL_FILE_READ_ON)
        return {one: kinds for one, kinds in WriterPort.can_fail.items() if self.faults and one not in left_out}


_make = WriterScenarioConfig
_MOST = (
    _make(), _make(1), _make(3), _make(3, 3), _make(2, 1), _make(interleaving="fine"), _make(3, 3, interleaving="fine"),
    _make(faults=True), _make(3, 3, faults=True), _make(interleaving="fine", faults=True),
)  # fmt: skip
IT_CLOSES_BEFORE_IT_IS_WRITTEN: tuple[Operands, ...] = (
    register(0), register(1), start(0, 1), start(1, 1), add_input_from_spill(0, "010110"), finish_input(0),
    finish_output(0), finish_input(1), finish_output(1), close(0),
)  # fmt: skip
"""A subtask has handed in all that it has for a checkpoint and closes, and the executor has not begun yet."""
_SPILLING = (
    _make(spills=True), _make(3, 3, interleaving="fine", spills=True), _make(files=True, spills=True),
    _make(interleaving="fine", spills=True, faults=True),
)  # fmt: skip


def _port_config(config: WriterScenarioConfig) -> WriterConfig:
    return WriterConfig(config.subtasks, config.sharing, MOST_RESULTS, config.files)


COMPONENT = Component(
    name="writer",
    port=WriterPort,
    config_type=WriterScenarioConfig,
    configs=(*_MOST * 2, _make(files=True), _make(3, 3, files=True, faults=True), *_SPILLING),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(_port_config(config), config.spills, config.places()),
    needs=WriterScenarioConfig.needs,
    threads=("deployment", "task", "network", "executor"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *spill_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    prefixes=(IT_CLOSES_BEFORE_IT_IS_WRITTEN,),
    explored=_make(faults=True),
    alike=lambda config: {"subtask": config.subtasks} if config.sharing in (1, config.subtasks) else {},
    bounds={
        "registrations": Bound(("register",), 2),
        "closes": Bound(("close",), 1),
        "checkpoints": Bound(("start",), 3),
        "data": Bound(("add_input", "add_output"), 1),
        "futures": Bound(("add_output_future",), 1),
        "aborts": Bound(("abort",), 1),
        "strikes": Bound(("fault",), 1),
        "variants": Bound(("add_input", "add_output", "add_output_future", "complete_future"), 1, variants=True),
        "other": Bound(("fail", "restore", "take_result", "add_input_from_spill"), 0),
    },
    biases=(
        {"finish_input": 40, "finish_output": 40, "execute": 80, "read_back": 12},
        {"add_input": 30, "add_output": 30, "execute": 100},
        {"add_input_from_spill": 60, "start": 40, "execute": 80},
        {"add_input_from_spill": 60, "start": 30, "finish_input": 30, "finish_output": 30, "close": 12, "register": 40},
        {"add_output_future": 40, "complete_future": 10, "fail_future": 8, "execute": 80},
        {"abort": 20, "start": 30},
        {"close": 16, "register": 60, "executors": 12},
    ),
)
