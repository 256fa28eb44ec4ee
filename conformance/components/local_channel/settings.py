"""The settings in which properties of the component are judged."""

from __future__ import annotations

from operator import attrgetter

from conformance.driver import Never, Setting, Settings
from conformance.parts.designs import BY_END_OF_RECOVERY

SETTINGS = Settings(
    attrgetter("lane.consumed"),
    BY_END_OF_RECOVERY,
    never=(
        Never(
            ("a-missing-recovery-barrier-declines-the-checkpoint", "the-end-of-recovered-data-is-told-once"),
            Setting(stage="not in recovery"), "The end of recovered data was taken before.",
        ),
        Never(
            ("priority-events-come-first",), Setting(stage="in recovery"),
            "Another property is about priority events that come before recovered data.",
        ),
    ),
)  # fmt: skip
