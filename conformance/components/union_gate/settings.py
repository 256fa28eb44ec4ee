"""How the settings of steps of the component are told apart."""

from __future__ import annotations

from conformance.driver import Settings

RECOVERING, REQUESTED = "before all gates are requested", "after all gates are requested"
ENDED, RELEASED = "after the last end", "after release"
FAILED = "after a failure"

SETTINGS = Settings(
    lambda ledger: ledger.phase,
    {
        "recovering": RECOVERING,
        "live": REQUESTED,
        "ended": ENDED,
        "failed": RELEASED,
        "kept": FAILED,
        "failing": FAILED,
        "broken": FAILED,
    },
    lambda config: [kind for kinds in config.gates for kind in kinds],
)
