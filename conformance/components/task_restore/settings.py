"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Setting, Settings

SETTINGS = Settings(
    never=(
        Never(
            ("without-all-three-settings-recovered-data-is-processed-first",), Setting("recover-first"),
            "This design has no checkpoints during recovery that could be disabled.",
        ),
    ),
)  # fmt: skip
