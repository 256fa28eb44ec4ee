"""A ledger has models: it extends what the driver knows of a ledger, and nothing extends it."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Component, PortLedger
from conformance.ports import Capability


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=list(COMPONENTS))
def test_a_ledger_inherits_from_no_model(component: Component):
    ledger = component.make_ledger(component.configs[0], frozenset(Capability))
    assert type(ledger).__mro__ == (type(ledger), PortLedger, object)
