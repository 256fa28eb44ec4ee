"""What must be true of a chain from its producers to its consumer, as named sentences. recovery.md, section 3.1."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability
from conformance.properties.base import Judgement, Kind, Level, Property, Seen, answers_property, thread_properties
from conformance.properties.chain import checks, goals
from conformance.properties.chain.ledger import IN_MEMORY, NONE, PUSHED, RECOVER_FIRST, ChainLedger

_CHAIN = "chain"
_STATE = ("snapshot", "restore")
_READBACK = frozenset({Capability.PERSISTED_READBACK})

_ALWAYS = (
    answers_property(_CHAIN),
    *thread_properties(_CHAIN),
    Property(
        "recovered-records-are-counted-before-live-ones",
        "No record sent after a restore is counted before all recovered records of its channel were.",
        _CHAIN, ("consume",), checks.recovered_before_live, invariant="I-09", tickets=("FLINK-39018", "FLINK-39521"),
    ),
    Property(
        "records-are-counted-once-and-in-order",
        "Of each channel the consumer counts every record once and in the order sent, "
        "over all failures, restores and conversions.",
        _CHAIN, ("consume",), checks.counted_once_in_order, invariant="I-01",
        tickets=("FLINK-38544", "FLINK-17564", "FLINK-39018"),
    ),
    Property(
        "a-channel-waits-behind-its-aligned-barrier",
        "No record behind an aligned barrier is counted before its checkpoint is over.",
        _CHAIN, ("consume",), checks.waits_behind_aligned, invariant="I-08", tickets=("FLINK-17568",),
    ),
    Property(
        "an-aligned-barrier-keeps-its-place",
        "An aligned barrier is consumed after all records sent before it, and before all sent after it.",
        _CHAIN, ("consume",), checks.aligned_in_place, invariant="I-08", tickets=("FLINK-18252",),
    ),
    Property(
        "an-unaligned-barrier-does-not-pass-another",
        "The unaligned barriers of a channel are consumed once each, in the order in which they were sent.",
        _CHAIN, ("consume",), checks.unaligned_in_order, invariant="I-07", tickets=("FLINK-18136", "FLINK-18252"),
    ),
    Property(
        "an-unaligned-barrier-goes-first",
        "Once an unaligned barrier has arrived, the consumer takes it before anything else.",
        _CHAIN, ("consume",), checks.unaligned_goes_first, invariant="I-22", tickets=("FLINK-20145", "FLINK-21104"),
    ),
    Property(
        "recovered-data-does-not-hold-up-a-checkpoint",
        "An unaligned barrier that arrives in a channel whose recovered data is not consumed is taken all the same.",
        _CHAIN, ("consume",), checks.not_held_up_by_recovered, invariant="I-54", tickets=("FLINK-39018",),
        needs=frozenset({Capability.RECOVERS_IN_MEMORY}),
    ),
    Property(
        "a-blocked-producer-nearby-does-not-hold-up-a-checkpoint",
        "An unaligned barrier of a producer in the same process is consumed although that producer is blocked, "
        "by a slow channel for instance.",
        _CHAIN, ("consume",), checks.not_held_up_by_blocked, invariant="I-97", tickets=("FLINK-39018",),
        needs=frozenset({Capability.BLOCKED_PRIORITY_LOCAL}),
    ),
    Property(
        "an-unaligned-barrier-leaves-its-producer-first",
        "What a remote producer sends next, with or without credit, is the unaligned barrier that it added.",
        _CHAIN, ("transfer",), checks.unaligned_leaves_first, invariant="I-14",
    ),
    Property(
        "a-blocked-producer-elsewhere-does-not-hold-up-a-checkpoint",
        "An unaligned barrier leaves a remote producer although that producer is blocked.",
        _CHAIN, ("transfer",), checks.unaligned_leaves_blocked, invariant="I-14", tickets=("FLINK-39018",),
        needs=frozenset({Capability.BLOCKED_PRIORITY_REMOTE}),
    ),
    Property(
        "the-end-of-partition-comes-last",
        "The end of a channel is consumed once, after all its records and unaligned barriers.",
        _CHAIN, ("consume",), checks.end_comes_last, invariant="I-33",
    ),
    Property(
        "a-checkpoint-completes-exactly-when-its-last-barrier-comes",
        "A checkpoint is acknowledged once, when its barrier, or the end, of every channel was consumed; not before.",
        _CHAIN, ("consume",), checks.completes_in_time, invariant="I-52", tickets=("FLINK-25305",),
    ),
    Property(
        "a-checkpoint-is-declined-for-a-newer-one-only",
        "A checkpoint that starts after the conversion is declined only if a newer one is known.",
        _CHAIN, ("consume",), checks.declined_for_a_reason, invariant="I-37", tickets=("FLINK-21104",),
    ),
    Property(
        "a-subsumed-checkpoint-is-declined",
        "A pending checkpoint is declined when the barrier of a newer one comes.",
        _CHAIN, ("consume",), checks.subsumed_is_declined, invariant="I-45",
    ),
    Property(
        "a-checkpoint-before-the-conversion-is-declined",
        "A checkpoint that the consumer is asked for before its channels are converted is declined: it is not ready.",
        _CHAIN, ("trigger",), checks.too_early_is_declined, invariant="I-53", tickets=("FLINK-20654",),
    ),
    Property(
        "an-aligned-checkpoint-holds-no-channel-state",
        "The input and the output state of an aligned checkpoint are empty.",
        _CHAIN, _STATE, checks.aligned_has_no_channel_state, invariant="I-10",
        tickets=("FLINK-18136", "FLINK-18252"), needs=_READBACK,
    ),
    Property(
        "a-checkpoint-says-how-far-it-is",
        "An acknowledged checkpoint can be read back as completed, a declined one never is.",
        _CHAIN, _STATE, checks.says_how_far_it_is, invariant="I-62", needs=_READBACK,
    ),
    Property(
        "nothing-behind-a-barrier-is-in-the-checkpoint",
        "A record sent after the barrier is neither counted in the checkpoint nor in its channel state.",
        _CHAIN, _STATE, checks.nothing_behind_the_barrier, invariant="I-36",
        tickets=("FLINK-20654", "FLINK-21104", "FLINK-17568"), needs=_READBACK,
    ),
    Property(
        "nothing-is-in-a-checkpoint-twice",
        "A record sent before the barrier is counted in the checkpoint, or in its input state, or in its output state: "
        "in one of them.",
        _CHAIN, _STATE, checks.nothing_twice, invariant="I-34", tickets=("FLINK-40016",), needs=_READBACK,
    ),
    Property(
        "nothing-is-missing-in-a-checkpoint",
        "Every record sent before the barrier is counted in the checkpoint or in its channel state.",
        _CHAIN, _STATE, checks.nothing_missing, invariant="I-04",
        tickets=("FLINK-17315", "FLINK-18139", "FLINK-20645", "FLINK-38544"), needs=_READBACK,
    ),
    Property(
        "channel-state-is-in-order",
        "What a checkpoint counted, its input state and its output state follow each other in the order sent.",
        _CHAIN, _STATE, checks.in_order, invariant="I-05", tickets=("FLINK-17564",), needs=_READBACK,
    ),
    Property(
        "the-state-of-the-consumer-is-what-it-counted",
        "The consumer's state holds the records that it counted, restored ones included, and nothing else.",
        _CHAIN, ("counted",), checks.state_is_what_was_counted, invariant="I-01", quiet=True,
    ),
    Property(
        "a-released-chain-holds-nothing",
        "After release, at whatever moment, no segment, listener or future is held.",
        _CHAIN, ("resources",), checks.holds_nothing, invariant="I-93", tickets=("FLINK-17440",),
        needs=frozenset({Capability.RESOURCES}),
    ),
    Property(
        "a-checkpoint-comes-to-an-end",
        "A checkpoint whose barriers were all sent is acknowledged or declined in the end.",
        _CHAIN, ("counted",), checks.comes_to_an_end, kind=Kind.EVENTUALLY, invariant="I-98", tickets=("FLINK-39018",),
    ),
    Property(
        "everything-sent-is-counted",
        "If everybody follows what he is told, the consumer has counted everything in the end.",
        _CHAIN, ("counted",), checks.everything_is_counted, kind=Kind.EVENTUALLY, invariant="I-22",
        tickets=("FLINK-19681", "FLINK-23223"),
    ),
    Property(
        "a-restored-chain-counts-everything",
        "A chain restored from a completed checkpoint, and from nothing else, has counted everything in the end.",
        _CHAIN, ("counted",), checks.restored_is_counted, kind=Kind.EVENTUALLY, invariant="I-03",
        tickets=("FLINK-38544", "FLINK-39018"),
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[ChainLedger, Seen], Judgement],
          *needs: Capability) -> Property:  # fmt: skip
    return Property(slug, statement, _CHAIN, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=frozenset(needs))


_DESIGNS = {
    RECOVER_FIRST: ("recovering-first", Capability.RECOVERS_FIRST),
    IN_MEMORY: ("recovering-in-memory", Capability.RECOVERS_IN_MEMORY),
    PUSHED: ("recovering-by-pushing", Capability.RECOVERS_BY_PUSHING),
}
_PAIRS = tuple(
    _goal(f"from-{taken}-to-{name}",
          f"A checkpoint of a chain {taken.replace('-', ' ')} was restored {name.replace('-', ' ')}.",
          ("restore",), goals.restored(before, behind), first, second)
    for before, (taken, first) in _DESIGNS.items()
    for behind, (name, second) in _DESIGNS.items()
)  # fmt: skip
_FRESH = tuple(
    _goal(f"from-a-fresh-start-to-{name}", f"A checkpoint of a fresh chain was restored {name.replace('-', ' ')}.",
          ("restore",), goals.restored(NONE, design), capability)
    for design, (name, capability) in _DESIGNS.items()
)  # fmt: skip

_MEMORY = Capability.RECOVERS_IN_MEMORY
_PUSHED = Capability.RECOVERS_BY_PUSHING

_END = ("resources",)
"""The last step of every run."""

_SOMETIMES = (
    *_FRESH,
    *_PAIRS,
    _goal("a-checkpoint-taken-during-recovery-was-restored",
          "A checkpoint that began while recovered data was not consumed was restored.", ("restore",),
          goals.restored_taken_during, _MEMORY),
    _goal("a-checkpoint-was-restored-twice", "The same checkpoint was restored again.", ("restore",),
          goals.restored_twice),
    _goal("an-older-checkpoint-was-restored", "A checkpoint was restored that was not the newest.", ("restore",),
          goals.restored_older),
    _goal("a-chain-started-from-nothing-again", "After a restore, a chain was started without any checkpoint.",
          ("restore",), goals.restored_from_nothing),
    _goal("three-restores-in-a-row", "A checkpoint was restored that rests on two restores before.", ("restore",),
          goals.third_in_a_row),
    _goal("both-kinds-of-channel-state-were-restored",
          "Input and output state of one channel were restored together.", ("restore",), goals.both_states_restored),
    _goal("a-chain-failed-before-it-requested",
          "A chain failed with recovered data on its way, before it asked its producers for data.", ("fail",),
          goals.failed_while_starting),
    _goal("a-chain-failed-while-recovering",
          "A chain failed with recovered data on its way, and its producers connected.", ("fail",),
          goals.failed_while_recovering),
    _goal("a-chain-failed-with-a-checkpoint-pending", "A chain failed between two barriers of a checkpoint.",
          ("fail",), goals.failed_while_pending),
    _goal("a-chain-failed-with-data-in-flight", "A chain failed long after recovery, with records on their way.",
          ("fail",), goals.failed_live),
    _goal("a-chain-failed-in-the-middle-of-an-operation", "A chain failed while an operation was in flight.",
          ("fail",), goals.failed_in_flight, Capability.STEPPING),
    _goal("a-checkpoint-completed-during-recovery",
          "A checkpoint completed while recovered data was not consumed.", _END,
          goals.seen_before("completed during recovery"), _MEMORY),
    _goal("a-checkpoint-completed-before-anything-recovered-was-consumed",
          "A checkpoint completed in a channel of which no recovered record was consumed.", _END,
          goals.seen_before("completed before any recovered"), _MEMORY),
    _goal("a-checkpoint-completed-with-recovered-data-not-pushed",
          "A checkpoint completed while recovered records had not even reached their channel.", _END,
          goals.seen_before("completed with a slice"), _PUSHED),
    _goal("an-aligned-checkpoint-completed", "An aligned checkpoint completed.", _END,
          goals.seen_before("completed aligned")),
    _goal("a-checkpoint-completed-after-a-declined-one", "A checkpoint completed after another was declined.",
          _END, goals.seen_before("completed after a decline")),
    _goal("a-checkpoint-completed-by-the-end-of-a-channel",
          "A channel ended instead of sending its barrier, and the checkpoint completed.", _END,
          goals.seen_before("completed by an end")),
    _goal("a-barrier-passed-a-blocked-producer", "An unaligned barrier was consumed from a blocked channel.",
          _END, goals.seen_before("passed a blocked producer"), Capability.BLOCKED_PRIORITY_LOCAL),
    _goal("a-checkpoint-was-declined-for-a-newer-one", "A pending checkpoint was declined.", _END,
          goals.seen_before("declined")),
    _goal("an-obsolete-barrier-was-consumed", "A barrier came of a checkpoint that was over.", _END,
          goals.seen_before("obsolete barrier")),
    _goal("a-checkpoint-held-both-kinds-of-channel-state",
          "Input and output state of one channel were both not empty.", ("snapshot",), goals.both_states_at_once),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = (*_ALWAYS, *_SOMETIMES)

__all__ = ["PROPERTIES", "ChainLedger"]
