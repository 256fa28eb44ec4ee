"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.driver.setting import LOCAL
from conformance.parts.designs import AFTER, BEFORE, BY_CONVERSION

SETTINGS = Settings(
    lambda ledger: ledger.converted,
    BY_CONVERSION,
    lambda config: config.channels,
    never=(
        Never(
            (
                "a-blocked-channel-delivers-priority-events-only", "a-checkpoint-starts-if-nothing-speaks-against-it",
                "a-missing-recovery-barrier-declines-the-checkpoint", "a-newer-barrier-subsumes-an-older-checkpoint",
                "credit-is-backed-by-buffers-of-the-gate", "exclusive-buffers-are-announced-again",
                "no-channel-waits-for-a-free-buffer", "one-slow-channel-delays-no-other", "priority-events-come-first",
                "priority-is-told-apart-from-data", "the-consumer-is-told-of-the-end",
                "the-end-of-data-comes-before-the-end-of-a-partition",
            ), BEFORE, "Recovered channels have no producers, and refuse every checkpoint.",
        ),
        Never(("checkpoints-are-declined-until-channels-are-physical",), AFTER, "All channels are physical."),
        Never(
            (
                "checkpoints-are-declined-until-channels-are-physical", "recovered-data-comes-before-live-data",
                "the-end-of-recovered-data-is-told-once-per-channel",
            ), Setting("none"), "Nothing is recovered.",
        ),
        Never(
            ("recovered-data-comes-before-live-data", "the-end-of-recovered-data-is-told-once-per-channel"),
            Setting("recover-first", "after conversion"), "All recovered data was taken before.",
        ),
        Never(
            ("the-end-of-recovered-data-is-told-once-per-channel",), Setting("in-memory", "after conversion"),
            "The end of recovered data is not handed over.",
        ),
        Never(
            ("the-end-of-recovered-data-is-told-once-per-channel",), Setting("pushed", "before conversion"),
            "Nothing is pushed before the conversion.",
        ),
        Never(
            ("a-gate-with-data-is-available", "buffers-in-use-count-what-waits"),
            Setting("pushed", "before conversion"), "Nothing is pushed before the conversion, so nothing waits.",
        ),
        Never(
            ("the-end-of-recovered-data-is-told-once-per-channel",), Setting("pushed", channel="remote channels"),
            "A push waits for the first element of a remote producer, so behind the end of recovered data there is an "
            "element, and the same poll answers it: no poll that answers nothing takes that end.",
        ),
        Never(("a-resumed-producer-is-told-to-go-on",), Setting(channel=LOCAL), "No signal tells a local producer."),
        Never(("an-operation-fails-with-what-it-calls",), BEFORE, "A recovered channel writes nothing."),
        *[
            Never(
                (
                    "a-checkpoint-that-fails-has-no-input-state", "an-error-reaches-whoever-polls",
                    "an-operation-fails-with-what-it-calls", "the-consumer-is-told-of-an-error",
                ), Setting(channel=channels), "The gates of scenarios with faults have channels of both kinds.",
            )
            for channels in ("local channels", "remote channels")
        ],
        Never(("no-conversion-loses-state",), Setting("pushed"), "Nothing was pushed before the conversion."),
    ),
)  # fmt: skip
