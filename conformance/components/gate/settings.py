"""The settings in which properties of the component are judged."""

from __future__ import annotations

from operator import attrgetter

from conformance.driver import Never, Setting, Settings
from conformance.parts.designs import AFTER, BEFORE, BY_CONVERSION

SETTINGS = Settings(
    attrgetter("converted"),
    BY_CONVERSION,
    lambda config: config.channels,
    never=(
        Never(
            (
                "a-blocked-channel-delivers-priority-events-only", "a-checkpoint-starts-if-nothing-speaks-against-it",
                "a-missing-recovery-barrier-declines-the-checkpoint", "a-newer-barrier-subsumes-an-older-checkpoint",
                "one-slow-channel-delays-no-other", "priority-events-come-first",
                "the-end-of-data-comes-before-the-end-of-a-partition",
            ), BEFORE, "Recovered channels have no producers, and refuse every checkpoint.",
        ),
        Never(("checkpoints-are-declined-until-channels-are-physical",), AFTER, "All channels are physical."),
        Never(
            ("checkpoints-are-declined-until-channels-are-physical", "recovered-data-comes-before-live-data"),
            Setting("none"), "Nothing is recovered.",
        ),
        Never(
            ("recovered-data-comes-before-live-data",), Setting("recover-first", "after conversion"),
            "All recovered data was taken before.",
        ),
        Never(("no-conversion-loses-state",), Setting("pushed"), "Nothing was pushed before the conversion."),
    ),
)  # fmt: skip
