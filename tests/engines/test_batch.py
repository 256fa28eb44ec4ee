"""Scenarios that are sent whole: what a batch shows is confirmed step by step."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program
from conformance.engines.batch import BatchSearch, Messenger, generator_of, searching
from conformance.engines.patience import PATIENCE
from conformance.engines.search import seeds
from conformance.ports import Capability, ErrorKind, Outcome, PortError
from tests.engines.far import FarAway

SCENARIOS = 20


class Distorting(FarAway):
    """Says in a batch that nothing has come out of the component, which is wrong; step by step it is right."""

    def _batch(self, component, config, calls):
        return [Outcome(None, one.signals, one.error) for one in super()._batch(component, config, calls)]


class Failing(FarAway):
    """Its program fails in each batch, and does not step by step."""

    kind = ErrorKind.CRASHED

    def _batch(self, component, config, calls):
        self.messages += 1
        raise PortError(self.kind, "it is gone")


def searched(far, scenarios=SCENARIOS):
    search = searching(Program(COMPONENTS[far.component], far))
    assert isinstance(search, BatchSearch)
    return [search.run(text)[1] for text in seeds(0, far.component, range(scenarios))]


def test_what_a_batch_shows_and_steps_do_not_is_a_finding_of_its_own():
    far = Distorting("reference", "deque")
    found = [run.violation for run in searched(far) if run.violation is not None]
    assert {one.signature for one in found} == {(ANSWERS, "protocol", "replay")}
    assert found[0].broken.observed.startswith("in one message ")
    assert far.messages == SCENARIOS
    assert far.ports > 0


def test_only_a_scenario_that_shows_a_violation_is_run_step_by_step():
    far = FarAway("reference", "deque")
    assert not [run for run in searched(far) if run.violation is not None]
    assert (far.messages, far.ports) == (SCENARIOS, 0)


def test_a_violation_is_the_one_of_the_run_step_by_step():
    far = FarAway("known-bug:B-D2", "deque")
    found = [run.violation for run in searched(far) if run.violation is not None]
    assert found
    assert (ANSWERS, "protocol", "replay") not in {one.signature for one in found}
    assert far.ports >= len(found)


def test_a_program_that_crashes_in_a_batch_only_has_crashed():
    far = Failing("reference", "deque")
    found = [run.violation for run in searched(far)]
    assert {one.signature for one in found if one is not None} == {(ANSWERS, "crashed", "new")}
    assert all(found)
    assert far.messages == SCENARIOS


def test_a_program_that_hangs_in_batches_gets_no_more_of_them():
    far = Failing("reference", "deque")
    far.kind = ErrorKind.HUNG
    found = [run.violation is not None for run in searched(far)]
    assert found == [at < PATIENCE["hung"] for at in range(SCENARIOS)]
    assert far.messages == PATIENCE["hung"]


def test_an_error_of_the_protocol_in_a_batch_is_no_violation_if_the_steps_are_right():
    far = Failing("reference", "deque")
    far.kind = ErrorKind.PROTOCOL
    assert not any(run.violation for run in searched(far))
    assert far.messages == SCENARIOS


def test_a_scenario_that_was_not_drawn_here_is_sent_whole_too():
    far = FarAway("reference", "deque")
    program = Program(COMPONENTS["deque"], far)
    scenario, _ = searching(program).run("0")
    far.messages = 0
    messenger = Messenger(program, far.batch)
    runs = [messenger.run(scenario) for _ in range(2)]
    assert runs[0].entries == runs[1].entries != ()
    assert (far.messages, far.ports) == (2, 0)


@pytest.mark.parametrize("able", [True, False])
def test_only_steps_are_drawn_that_are_enabled_at_the_other_end(able):
    far = FarAway("reference")
    lacking = Capability.TIMEOUTABLE_BARRIERS
    program = Program(COMPONENTS["subpartition"], far)
    program.capabilities = far.capabilities if able else far.capabilities - {lacking}
    assert (lacking in Messenger(program, far.batch).local.capabilities) == able


def test_the_reference_that_can_do_the_same_draws():
    assert generator_of(Program(COMPONENTS["coordinator"], FarAway("reference", "coordinator"))).name == "reference"
    older = FarAway("reference-v0", "coordinator")
    assert generator_of(Program(COMPONENTS["coordinator"], older)).capabilities == older.capabilities
