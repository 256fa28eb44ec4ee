"""The components of the suite, by name. Each folder holds the steps, the ledger and the rules of one component."""

from conformance.driver import Components, Defined

COMPONENTS = Components(
    "conformance.components:COMPONENTS",
    tuple(
        Defined(name, f"{__name__}.{name.replace('-', '_')}")
        for name in (
            "deque",
            "subpartition",
            "persister",
            "remote-channel",
            "gate",
            "recovered-channel",
            "chain",
            "local-channel",
            "coordinator",
            "barrier-handler",
            "consumer-loop",
            "writer",
            "subtask-checkpoint",
            "spill",
            "drainer",
            "task-restore",
            "assignment",
            "filter",
            "pipeline",
        )
    ),
)
