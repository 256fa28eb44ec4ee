"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.driver.setting import LOCAL

RECOVERING, REQUESTED = "before all gates are requested", "after all gates are requested"
ENDED, RELEASED = "after the last end", "after release"
FAILED = "after a failure"

SETTINGS = Settings(
    lambda ledger: ledger.phase,
    {
        "recovering": RECOVERING, "live": REQUESTED, "ended": ENDED, "failed": RELEASED, "kept": FAILED,
        "failing": FAILED, "broken": FAILED,
    },
    lambda config: [kind for kinds in config.gates for kind in kinds],
    never=(
        Never(
            (
                "live-data-waits-for-recovered-data",
                "the-end-of-recovered-data-is-told-for-every-gate",
                "the-end-of-recovered-data-is-told-once-for-its-channel",
            ), Setting("none"), "Nothing is recovered.",
        ),
        *(
            Never(
                (
                    "after-release-nothing-is-held", "operations-fail-only-after-release",
                    "released-gates-hand-out-nothing",
                ), Setting(stage=stage), "Nothing was released.",
            )
            for stage in (RECOVERING, REQUESTED, ENDED, FAILED)
        ),
        Never(
            ("credit-goes-to-producers-of-the-same-gate", "the-right-producer-is-resumed"), Setting(channel=LOCAL),
            "A local producer needs no credit, and no signal tells it to go on.",
        ),
        Never(
            ("a-union-that-has-ended-is-available", "nothing-follows-the-last-end"), Setting(stage=RECOVERING),
            "No channel ends before its gate is requested.",
        ),
        Never(("a-union-that-has-ended-is-available",), Setting(stage=REQUESTED), "A channel has not ended."),
        Never(
            (
                "a-union-that-has-ended-is-available",
                "an-empty-union-lets-its-consumer-sleep", "credit-comes-back", "each-gate-is-converted-on-its-own",
                "the-end-of-recovered-data-is-told-for-every-gate", "while-it-lives-a-union-holds-what-its-gates-need",
            ), Setting(stage=FAILED), "The task fails: it recovers and reads no more, and data may be given back now.",
        ),
        *(
            Never(
                ("the-consumer-is-told-of-an-error", "an-error-reaches-whoever-polls"), Setting(channel=channels),
                "The unions of scenarios with faults have channels of both kinds.",
            )
            for channels in ("local channels", "remote channels")
        ),
        *(
            Never(
                ("nothing-follows-the-last-end",), Setting(stage=REQUESTED, channel=channels),
                "A channel has not ended, and a poll that answers nothing does not end one.",
            )
            for channels in ("local channels", "local and remote channels")
        ),
        *(
            Never(
                ("the-end-of-recovered-data-is-told-once-for-its-channel",), Setting(recovery, REQUESTED),
                "Before a gate is converted, the ends of recovered data are taken, or handed over.",
            )
            for recovery in ("recover-first", "in-memory")
        ),
        Never(
            (
                "credit-goes-to-producers-of-the-same-gate", "credit-is-announced-for-recycled-buffers-only",
                "the-right-producer-is-resumed",
            ), Setting(channel=LOCAL), "The producer of a local channel gets no credit and no signal.",
        ),
        Never(
            ("credit-comes-back", "the-end-of-recovered-data-is-told-for-every-gate"), Setting(stage=RECOVERING),
            "They are judged at the end of a run, when all gates have been requested.",
        ),
        Never(
            ("credit-comes-back",), Setting(channel="local channels"), "The producer of a local channel gets no credit."
        ),
        Never(
            (
                "a-union-with-data-is-available", "an-empty-union-lets-its-consumer-sleep",
                "empty-polls-do-not-go-on-for-ever", "the-end-of-recovered-data-is-told-once-for-its-channel",
            ), Setting(stage=ENDED), "Nothing is left to poll, and the union stays available for ever.",
        ),
        Never(
            (
                "a-priority-event-of-any-gate-comes-first", "a-slow-gate-holds-up-no-other",
                "an-error-reaches-whoever-polls", "the-consumer-is-told-of-an-error",
                "an-answer-says-that-more-follows",
                "channels-of-a-gate-are-served-in-turn", "credit-comes-back",
                "credit-goes-to-producers-of-the-same-gate", "credit-is-announced-for-recycled-buffers-only",
                "each-gate-is-converted-on-its-own", "elements-arrive-once-in-order-from-their-channel",
                "empty-polls-do-not-go-on-for-ever", "gates-are-served-in-turn",
                "live-data-waits-for-recovered-data", "live-elements-wait-for-the-request-of-their-gate",
                "more-is-said-only-if-something-is-left", "more-priority-is-said-only-if-a-priority-event-is-left",
                "nothing-follows-the-last-end", "only-priority-events-are-told-as-such",
                "priority-is-told-apart-from-data", "the-consumer-is-told-of-what-waits",
                "the-end-of-recovered-data-is-told-for-every-gate",
                "the-end-of-recovered-data-is-told-once-for-its-channel", "unread-state-is-not-converted-away",
                "while-it-lives-a-union-holds-what-its-gates-need",
            ), Setting(stage=RELEASED), "A released union hands out nothing.",
        ),
    ),
)  # fmt: skip
