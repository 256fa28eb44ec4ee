"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.parts.designs import BY_END_OF_RECOVERY

SETTINGS = Settings(
    lambda ledger: ledger.lane.consumed,
    BY_END_OF_RECOVERY,
    never=(
        Never(
            ("a-missing-recovery-barrier-declines-the-checkpoint", "the-end-of-recovered-data-is-told-once"),
            Setting(stage="not in recovery"), "The end of recovered data was taken before.",
        ),
        Never(
            ("a-failed-producer-is-not-silent",),
            Setting(stage="in recovery"), "Recovered data, or its end, is still to be taken first.",
        ),
        Never(
            (
                "a-blocked-channel-hands-out-priority-events", "a-late-stop-of-an-older-checkpoint-changes-nothing",
                "an-older-barrier-does-not-end-the-checkpoint", "live-data-before-the-barrier-is-written-once",
                "only-priority-events-leave-a-blocked-channel",
            ),
            Setting(stage="in recovery"), "Live data is hidden, so none is written and none blocks the producer.",
        ),
        Never(
            ("priority-events-come-first",),
            Setting(stage="in recovery"), "The property priority-events-pass-recovered-data is judged instead.",
        ),
    ),
)  # fmt: skip
