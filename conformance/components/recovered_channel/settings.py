"""The settings in which properties of the component are judged."""

from __future__ import annotations

from conformance.driver import Never, Settings
from conformance.parts.designs import AFTER, BY_CONVERSION

SETTINGS = Settings(
    lambda ledger: ledger.converted,
    BY_CONVERSION,
    never=(
        Never(
            (
                "a-channel-converts-once-nothing-can-be-lost", "a-consumer-that-finds-nothing-may-sleep",
                "a-failed-channel-holds-no-buffer-twice", "a-future-ends-with-what-it-waits-for",
                "a-push-after-the-end-is-refused", "a-push-waits-for-the-next-buffer",
                "a-take-answers-what-is-there", "buffers-in-use-count-what-waits",
                "conversion-hands-over-what-was-not-taken", "no-conversion-loses-state",
                "recovered-buffers-arrive-once-and-in-order", "recovered-buffers-have-no-backlog",
                "recovered-data-is-accepted-until-its-end", "sequence-numbers-have-no-gaps",
                "the-consumer-is-told-of-what-waits", "the-end-of-recovered-data-is-told-once",
                "the-next-type-names-what-can-be-taken", "while-it-lives-a-port-holds-what-it-should",
            ), AFTER, "A conversion releases the channel, which then holds nothing.",
        ),
        Never(
            ("a-conversion-fails-without-exclusive-buffers", "an-operation-fails-with-what-it-calls"),
            AFTER, "A channel that was converted asks for no buffers.",
        ),
        Never(
            ("a-push-fails-with-the-buffer-pool",), AFTER._replace(interleaving="whole"),
            "The conversion ends the push that waits, before the buffer pool can be destroyed.",
        ),
    ),
)  # fmt: skip
