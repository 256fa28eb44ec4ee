"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings
from conformance.driver.setting import REMOTE
from conformance.parts.designs import BEFORE, BY_CONVERSION

SETTINGS = Settings(
    lambda ledger: ledger.converted,
    BY_CONVERSION,
    lambda config: config.channels,
    lambda config, ledger: ledger.config.recovery,
    never=(
        Never(
            (
                "a-blocked-producer-nearby-does-not-hold-up-a-checkpoint", "a-channel-waits-behind-its-aligned-barrier",
                "a-checkpoint-comes-to-an-end",
                "a-checkpoint-completes-exactly-when-its-last-barrier-comes",
                "a-checkpoint-is-declined-for-a-newer-one-only", "a-restored-chain-counts-everything",
                "a-subsumed-checkpoint-is-declined", "an-aligned-barrier-keeps-its-place",
                "an-aligned-checkpoint-holds-no-channel-state", "an-unaligned-barrier-does-not-pass-another",
                "an-unaligned-barrier-goes-first", "channel-state-is-in-order", "everything-sent-is-counted",
                "no-producer-goes-on-before-all-output-state-has-ended",
                "nothing-behind-a-barrier-is-in-the-checkpoint", "nothing-is-in-a-checkpoint-twice",
                "nothing-is-missing-in-a-checkpoint", "recovered-data-does-not-hold-up-a-checkpoint",
                "the-end-of-partition-comes-last",
            ), BEFORE, "No element of a producer arrives, so that no checkpoint completes and no run ends here.",
        ),
        Never(
            ("credit-of-a-chain-is-backed-by-buffers", "every-exclusive-buffer-is-announced"),
            BEFORE, "No partition is requested, so that no producer has credit.",
        ),
        Never(
            ("a-consumer-that-finds-nothing-may-sleep",),
            BEFORE, "A poll that answers nothing has taken the end of recovered data.",
        ),
        Never(
            (
                "a-restored-chain-counts-everything", "no-producer-goes-on-before-all-output-state-has-ended",
                "recovered-records-are-counted-before-live-ones",
            ),
            Setting("none"), "Nothing is recovered.",
        ),
        Never(
            ("a-blocked-producer-nearby-does-not-hold-up-a-checkpoint",),
            Setting(channel=REMOTE), "The property of producers elsewhere is judged instead.",
        ),
    ),
)  # fmt: skip
