"""The components of the suite, by name. All that the suite knows of a gate stands in `components/gate/`."""

from conformance.components import (
    chain,
    deque,
    gate,
    local_channel,
    persister,
    recovered_channel,
    remote_channel,
    subpartition,
    union_gate,
)
from conformance.driver import Components

COMPONENTS = Components(
    "conformance.components:COMPONENTS",
    (
        deque.COMPONENT,
        subpartition.COMPONENT,
        persister.COMPONENT,
        remote_channel.COMPONENT,
        gate.COMPONENT,
        union_gate.COMPONENT,
        recovered_channel.COMPONENT,
        chain.COMPONENT,
        local_channel.COMPONENT,
    ),
)
