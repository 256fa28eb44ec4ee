"""What must be true of a recovered channel, as named sentences. recovery.md, sections 2.8 and 3.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.ports import Capability
from conformance.properties.base import Judgement, Kind, Level, Property, Seen, answers_property, thread_properties
from conformance.properties.recovered_channel import checks, goals
from conformance.properties.recovered_channel.ledger import RecoveredChannelLedger

_COMPONENT = "recovered-channel"
_PUSHES = ("push_recovered", "finish_recovered", "push_after_end")
_READBACK = frozenset({Capability.PERSISTED_READBACK})
_RESOURCES = frozenset({Capability.RESOURCES})
_STEPPING = frozenset({Capability.STEPPING})
_FIRST = frozenset({Capability.RECOVERS_FIRST})
_IN_MEMORY = frozenset({Capability.RECOVERS_IN_MEMORY})
_PUSHED = frozenset({Capability.RECOVERS_BY_PUSHING})

_ALWAYS = (
    answers_property(_COMPONENT),
    # No operation of this channel waits, or takes a lock inside another: only a broken one could show it.
    *(replace(one, level=Level.UNTESTABLE) for one in thread_properties(_COMPONENT)),
    Property(
        "a-released-channel-is-not-read",
        "Taking from a released channel is an error of kind state, and from no other.",
        _COMPONENT, ("take",), checks.released_is_not_read, invariant="I-24", tickets=("FLINK-21104",),
    ),
    Property(
        "recovered-buffers-arrive-once-and-in-order",
        "What was pushed is handed out once, unchanged and in the order pushed.",
        _COMPONENT, ("take",), checks.arrives_in_order, invariant="I-28", tickets=("FLINK-39018",),
    ),
    Property(
        "the-end-of-recovered-state-is-told-once",
        "Taking the end of recovered state answers nothing and tells, once, that all state is consumed; "
        "all buffers come before it.",
        _COMPONENT, ("take",), checks.end_is_told_once, invariant="I-09",
    ),
    Property(
        "a-take-answers-what-is-there",
        "A take answers a recovered buffer, or the end of them, if one is queued.",
        _COMPONENT, ("take",), checks.hands_out_what_is_there, invariant="I-16",
    ),
    Property(
        "recovered-buffers-are-numbered-without-gaps",
        "Each element carries the sequence number behind that of the element before it.",
        _COMPONENT, ("take",), checks.numbers_without_gaps, invariant="I-19",
    ),
    Property(
        "state-is-accepted-until-its-end",
        "While state is being read, the channel takes what is pushed.",
        _COMPONENT, ("push_recovered", "finish_recovered"), checks.accepts_until_the_end, invariant="I-94",
    ),
    Property(
        "a-push-after-release-is-recycled-silently",
        "A push into a released or converted channel is no error, and tells nobody anything.",
        _COMPONENT, _PUSHES, checks.recycles_after_release, invariant="I-94", tickets=("FLINK-39521",),
    ),
    Property(
        "a-push-after-the-end-is-refused",
        "A push after the end of recovered state is an error of kind state.",
        _COMPONENT, ("push_after_end",), checks.refuses_after_the_end, invariant="I-94", tickets=("FLINK-39521",),
        needs=_PUSHED,
    ),
    Property(
        "no-conversion-loses-state",
        "Conversion is an error of kind state while state would be lost: with recover-first until all is consumed, in "
        "memory until all is read, with pushing while a buffer is stored.",
        _COMPONENT, ("convert",), checks.refuses_conversion, invariant="I-27", tickets=("FLINK-39018", "FLINK-39521"),
    ),
    Property(
        "a-channel-converts-once-nothing-can-be-lost",
        "Conversion succeeds as soon as no state would be lost.",
        _COMPONENT, ("convert",), checks.allows_conversion, invariant="I-26",
    ),
    Property(
        "conversion-hands-over-what-was-not-taken",
        "The physical channel is given exactly the records that nobody took, in order.",
        _COMPONENT, ("convert",), checks.hands_over_what_is_left, invariant="I-28", tickets=("FLINK-39018",),
    ),
    Property(
        "checkpoints-are-declined-until-the-channel-is-physical",
        "A checkpoint that starts is declined because the task is not ready.",
        _COMPONENT, ("checkpoint_started",), checks.declines_checkpoints, invariant="I-53", tickets=("FLINK-20654",),
    ),
    Property(
        "a-declined-checkpoint-leaves-nothing-behind",
        "Nothing is written for a checkpoint that was declined.",
        _COMPONENT, ("persisted",), checks.writes_nothing, invariant="I-53", tickets=("FLINK-20654",),
        needs=_READBACK,
    ),
    Property(
        "the-newest-stopped-checkpoint-is-remembered",
        "The physical channel can learn which checkpoint was the newest that was stopped here.",
        _COMPONENT, ("last_stopped",), checks.remembers_the_newest_stop, invariant="I-29", tickets=("FLINK-21104",),
        quiet=True,
    ),
    Property(
        "a-late-stop-does-not-hide-a-newer-one",
        "After a late stop of an older checkpoint the newest one that was stopped is still remembered.",
        _COMPONENT, ("last_stopped",), checks.late_stop_is_not_remembered, level=Level.SHOULD, invariant="I-29",
        tickets=("FLINK-20097",), quiet=True,
    ),
    Property(
        "buffers-in-use-count-what-waits",
        "The buffers in use are the recovered buffers that nobody has taken.",
        _COMPONENT, ("in_use",), checks.counts_what_waits, invariant="I-21", tickets=("FLINK-39018",),
        needs=_RESOURCES, quiet=True,
    ),
    Property(
        "a-recovered-channel-holds-what-it-should-and-releases-all",
        "It holds one segment for each buffer that waits; after release or conversion, nothing.",
        _COMPONENT, ("resources", "restore"), checks.holds_what_it_should, invariant="I-93", needs=_RESOURCES,
        quiet=True,
    ),
    Property(
        "the-consumer-is-told-of-what-waits",
        "Whenever nothing is in progress and something can be taken, the consumer was told so.",
        _COMPONENT, ("push_recovered", "finish_recovered", "take", "convert", "in_use"),
        checks.nothing_waits_unannounced, kind=Kind.EVENTUALLY, invariant="I-22",
        tickets=("FLINK-39018", "FLINK-20145"), quiet=True,
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[RecoveredChannelLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, _COMPONENT, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


_SOMETIMES = (
    _goal("converted-with-several-buffers-queued", "A conversion handed over several buffers.", ("convert",),
          goals.converted_with_buffers, _IN_MEMORY),
    _goal("converted-after-some-buffers-were-taken", "A conversion handed over what the consumer had left.",
          ("convert",), goals.converted_after_some_were_taken, _IN_MEMORY),
    _goal("converted-when-all-was-consumed", "A channel was converted after its buffers and their end were taken.",
          ("convert",), goals.converted_when_consumed, _FIRST),
    _goal("conversion-was-refused-while-state-was-read", "A conversion came while state was being read.", ("convert",),
          goals.conversion_refused_while_reading),
    _goal("conversion-was-refused-before-consumption", "A conversion came when all was read and not consumed.",
          ("convert",), goals.conversion_refused_before_consumption, _FIRST),
    _goal("conversion-was-refused-with-a-stored-buffer", "A conversion found a buffer where none may be.",
          ("convert",), goals.conversion_refused_with_a_buffer, _PUSHED),
    _goal("converted-during-a-push", "A conversion was over while a push was in progress.", ("convert",),
          goals.converted_during_a_push, _PUSHED | _STEPPING),
    _goal("released-during-a-push", "A release was over while a push was in progress.", ("release",),
          goals.released_during_a_push, _STEPPING),
    _goal("released-while-state-was-read", "Released with buffers, before all state was read.", ("release",),
          goals.released_while_reading),
    _goal("released-when-all-was-read", "Released after all state was read.", ("release",), goals.released_when_read),
    _goal("released-when-all-was-consumed", "Released after all state was consumed.", ("release",),
          goals.released_when_consumed),
    _goal("released-after-conversion", "Released after it was converted.", ("release",), goals.released_when_converted),
    _goal("released-a-second-time", "Released again.", ("release",), goals.released_twice),
    _goal("a-checkpoint-was-declined-with-buffers-queued", "A checkpoint came while several buffers were queued.",
          ("checkpoint_started",), goals.declined_with_buffers),
    _goal("an-older-checkpoint-was-stopped-late", "A checkpoint was stopped after a newer one.",
          ("checkpoint_stopped",), goals.stopped_late),
    _goal("failed-during-a-push", "Everything failed while a push was in progress.", ("fail",),
          goals.failed_during_a_push, _STEPPING),
    _goal("a-fresh-channel-took-over", "A fresh channel took the place of one that had failed.", ("restore",),
          goals.always),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES

__all__ = ["PROPERTIES", "RecoveredChannelLedger"]
