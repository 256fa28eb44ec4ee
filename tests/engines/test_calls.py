"""Calls of a port without a judge: what the doctor and the audit see of an implementation."""

from __future__ import annotations

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.calls import FEWEST, asked_for, draw, perform
from conformance.ports import Buffer, DataAvailable, ErrorKind, SubpartitionConfig
from tests import implementations as made


def performed(*calls):
    factory = made.reference().components()["subpartition"]
    happened = perform(COMPONENTS["subpartition"], factory, [("new", SubpartitionConfig()), *calls])
    return [one.outcome for one in happened]


def test_a_signal_belongs_to_the_call_in_which_it_was_emitted():
    new, view, added, resources = performed(("attach_view",), ("add", Buffer((0,))), ("resources",))
    assert (new.signals, view.signals, resources.signals) == ((), (), ())
    assert added.signals == (DataAvailable(),)


def test_nothing_is_called_after_a_crash():
    new, crashed = performed(("no_such_call",), ("resources",))
    assert new.error is None
    assert crashed.error is not None
    assert crashed.error.kind is ErrorKind.CRASHED


def test_a_few_scenarios_call_everything():
    program = Program(COMPONENTS["persister"], made.reference())
    drawn = list(draw(program))
    assert len(drawn) == FEWEST
    assert {call[0] for calls in drawn for call in calls} >= set(asked_for(program))
    assert all((calls[0][0], calls[-1]) == ("new", ("resources",)) for calls in drawn)
