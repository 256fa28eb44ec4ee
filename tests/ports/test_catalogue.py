"""The catalogue of interfaces has what can be spoken of, and says of it what the components themselves say."""

from __future__ import annotations

import pytest
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.ports import INTERFACES, Port


def test_every_component_has_an_interface():
    assert set(COMPONENTS) == set(INTERFACES)


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=COMPONENTS)
def test_a_component_and_its_interface_speak_of_the_same(component):
    port, config = INTERFACES[component.name]
    assert component.port is port
    assert {type(component.port_config(one)) for one in component.configs} == {config}


@pytest.mark.parametrize("interface", INTERFACES.values(), ids=INTERFACES)
def test_an_interface_is_an_abstract_port_and_a_configuration(interface):
    assert issubclass(interface.port, Port)
    assert interface.port.__abstractmethods__
    assert issubclass(interface.config, Struct)
    assert interface in {interface}
