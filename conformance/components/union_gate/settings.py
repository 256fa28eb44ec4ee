"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.driver.setting import LOCAL

RECOVERING, REQUESTED = "before all gates are requested", "after all gates are requested"
RELEASED = "after release"

SETTINGS = Settings(
    lambda ledger: ledger.phase,
    {"recovering": RECOVERING, "live": REQUESTED, "ended": REQUESTED, "failed": RELEASED},
    lambda config: [kind for kinds in config.gates for kind in kinds],
    never=(
        Never(
            (
                "live-data-waits-for-recovered-data", "an-empty-union-lets-its-consumer-sleep",
                "the-end-of-recovered-data-is-told-for-every-gate",
            ), Setting("none"), "Nothing is recovered.",
        ),
        *(
            Never(
                (
                    "after-release-nothing-is-held", "operations-fail-only-after-release",
                    "released-gates-hand-out-nothing",
                ), Setting(stage=stage), "Nothing was released.",
            )
            for stage in (RECOVERING, REQUESTED)
        ),
        Never(
            ("credit-goes-to-producers-of-the-same-gate", "the-right-producer-is-resumed"), Setting(channel=LOCAL),
            "A local producer needs no credit, and no signal tells it to go on.",
        ),
        Never(
            ("a-union-that-has-ended-is-available", "nothing-follows-the-last-end"), Setting(stage=RECOVERING),
            "No channel ends before its gate is requested.",
        ),
        Never(
            (
                "a-slow-gate-holds-up-no-other", "elements-arrive-once-in-order-from-their-channel",
                "live-data-waits-for-recovered-data", "nothing-follows-the-last-end",
                "the-consumer-is-told-of-priority-events", "the-consumer-is-told-of-what-waits",
                "the-end-of-recovered-data-is-told-for-every-gate",
            ), Setting(stage=RELEASED), "A released union hands out nothing.",
        ),
    ),
)  # fmt: skip
