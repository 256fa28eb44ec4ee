"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.parts.designs import BY_END_OF_RECOVERY

SETTINGS = Settings(
    lambda ledger: ledger.lane.consumed,
    BY_END_OF_RECOVERY,
    never=(
        Never(
            (
                "a-missing-recovery-barrier-declines-the-checkpoint",
                "live-data-is-hidden-until-recovered-data-is-consumed", "no-credit-is-announced-during-recovery",
                "recovered-data-takes-the-buffers-that-are-set-aside", "the-end-of-recovery-is-told-once",
            ), Setting(stage="not in recovery"), "The end of recovered data was taken before.",
        ),
        Never(
            (
                "a-backlog-gets-the-buffers-that-come-back", "credit-is-what-is-set-aside",
                "exclusive-buffers-come-back", "no-more-is-borrowed-than-is-required",
            ), Setting(stage="in recovery"), "No credit is announced in recovery.",
        ),
        Never(
            ("events-of-a-recovering-channel-are-kept-and-replayed",), Setting(stage="in recovery"),
            "They are handed out after recovery.",
        ),
    ),
)  # fmt: skip
