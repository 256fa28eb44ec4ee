"""The components of the suite, by name. Each folder holds the steps, the ledger and the rules of one component."""

from conformance.components import (
    barrier_handler,
    chain,
    consumer_loop,
    coordinator,
    deque,
    drainer,
    gate,
    local_channel,
    persister,
    recovered_channel,
    remote_channel,
    spill,
    subpartition,
    subtask_checkpoint,
    task_restore,
    union_gate,
    writer,
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
        coordinator.COMPONENT,
        barrier_handler.COMPONENT,
        consumer_loop.COMPONENT,
        writer.COMPONENT,
        subtask_checkpoint.COMPONENT,
        spill.COMPONENT,
        drainer.COMPONENT,
        task_restore.COMPONENT,
    ),
)
