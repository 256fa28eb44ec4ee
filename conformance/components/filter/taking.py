"""What was found in what the task took: one judgement for each rule about that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from conformance.components.filter.lanes import TargetChannel, VirtualChannel
from conformance.driver import Broken, FailureClass, Judgement
from conformance.models.recovered_words import recovered_in_words
from conformance.models.words import many, truth
from conformance.ports import (
    Attributes,
    FilterConfig,
    LatencyMarker,
    Record,
    Recovered,
    Recovery,
    Status,
    Taken,
    Unreadable,
    Watermark,
)


class Found:
    """What was found in one take. Each field is the judgement of one rule: False if there was nothing to judge."""

    __slots__ = (
        "belongs", "cut", "everything", "form", "idle", "known", "last_status", "last_watermark", "markers", "order",
        "passed", "place", "watermark", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.form: Judgement = False
        self.known: Judgement = False
        self.place: Judgement = False
        self.whole: Judgement = False
        self.cut: Judgement = False
        self.belongs: Judgement = False
        self.everything: Judgement = False
        self.order: Judgement = False
        self.passed: Judgement = False
        self.watermark: Judgement = False
        self.last_watermark: Judgement = False
        self.idle: Judgement = False
        self.last_status: Judgement = False
        self.markers: Judgement = False


NOTHING_FOUND = Found()
"""What was found if nothing was taken. It is never changed."""
Homes = Mapping[int, tuple[int, int]]
"""By id of a record, its virtual channel and its place among the elements of that."""


def take_apart(
    config: FilterConfig, channel: TargetChannel, virtuals: Sequence[VirtualChannel], homes: Homes,
    held: Collection[int | None], taken: Taken,
) -> Found:  # fmt: skip
    """Judges what came out of a channel, notes it there and in its virtual channels, and returns the judgements.
    `held`: the numbers of the buffers that the task holds."""
    found = Found()
    found.form = _form(config, channel, held, taken)
    for element in taken.elements:
        if type(element) is Record:
            _record(channel, virtuals, homes, element, found)
        elif type(element) is Unreadable:
            _unreadable(channel, element, found)
        elif config.rescaled:
            _event(channel, element, found)
        if not config.rescaled:
            _pass(channel, element, found)
    if not taken.last:
        channel.open = taken.open
        return found
    channel.last = True
    _judge_end(config, channel, found)
    return found


# ---- the form --------------------------------------------------------------------------------------------------------
def _form(config: FilterConfig, channel: TargetChannel, held: Collection[int | None], taken: Taken) -> Judgement:
    if taken.buffer is not None and taken.buffer in held:
        owed = f"the task holds buffer {taken.buffer}"
        return Broken(FailureClass.DUPLICATED, owed, "another with this number was taken")
    owed = observed = ""
    if channel.last:
        owed, observed = "everything was taken, so nothing may come", "something came"
    elif taken.last:
        if taken.buffer is not None or taken.elements or taken.open:
            owed, observed = "the last comes without a buffer and without elements", "it came with some"
    elif config.recovery is Recovery.RECOVER_FIRST:
        if taken.buffer is not None or len(taken.elements) != 1 or taken.open:
            owed, observed = "one element comes, whole and without a buffer", _parts(taken)
    elif taken.buffer is None or taken.open < 0:
        owed, observed = "elements come in a buffer", _parts(taken)
    return Broken(FailureClass.PROTOCOL, owed, observed) if owed else True


def _parts(taken: Taken) -> str:
    buffer = "no buffer" if taken.buffer is None else f"buffer {taken.buffer}"
    return f"{many(len(taken.elements), 'element')} came with {buffer}, and {many(taken.open, 'byte')} of another"


# ---- records ---------------------------------------------------------------------------------------------------------
def _record(
    channel: TargetChannel, virtuals: Sequence[VirtualChannel], homes: Homes, element: Record, found: Found
) -> None:
    place = homes.get(element.id)
    if place is None:
        found.whole = Broken(
            FailureClass.CORRUPTED, "only records come that were recovered", f"record {element.id} came"
        )
        return
    virtual, at = virtuals[place[0]], place[1]
    layout = virtual.layout
    original = layout.elements[at]
    is_cut = virtual.is_cut(at)
    if element != original:
        broken = Broken(
            FailureClass.CORRUPTED,
            f"this was recovered: {recovered_in_words(original)}",
            f"this came: {recovered_in_words(element)}",
        )
        if is_cut:
            found.cut = broken
        else:
            found.whole = broken
        return
    if is_cut:
        found.cut = found.cut or True
    else:
        found.whole = found.whole or True
    if not layout.is_known:
        found.known = Broken(FailureClass.PROTOCOL, f"nobody knows the {_of(virtual)}", f"{_id(element)} of it came")
        return
    if virtual not in channel.virtuals:
        owed = f"{_id(element)} belongs to channel {layout.channel} of the task"
        found.place = Broken(
            FailureClass.CORRUPTED, owed, f"it came out of channel {channel.channel} of gate {channel.gate}"
        )
        return
    found.place = found.place or True
    if at not in layout.place:
        found.belongs = Broken(
            FailureClass.DUPLICATED, f"{_id(element)} belongs to another subtask, which keeps it", "it came here, too"
        )
        return
    if layout.ambiguous:
        found.belongs = found.belongs or True
    if at in virtual.got:
        found.order = Broken(FailureClass.DUPLICATED, f"{_id(element)} comes once", "it came again")
    elif at < virtual.past:
        later = max(one for one in virtual.got if one > at)
        after = layout.elements[later]
        assert isinstance(after, Record)
        found.order = Broken(
            FailureClass.REORDERED, f"{_id(element)} was before {_id(after)} in the {_of(virtual)}", "it came behind it"
        )
    elif layout.place[at]:
        found.order = found.order or True
    virtual.got |= {at}
    virtual.past = max(virtual.past, at + 1)


def _unreadable(channel: TargetChannel, element: Unreadable, found: Found) -> None:
    waiting = [(one, at) for one in channel.virtuals for at in one.left()]
    owed = "each element is whole in the channel to which it belongs"
    broken = Broken(FailureClass.CORRUPTED, owed, f"what came behind byte {element.offset} is no element")
    if any(one.is_cut(at) for one, at in waiting):
        found.cut = broken
    else:
        found.whole = broken


def _id(element: Record) -> str:
    return f"record {element.id}"


def _of(virtual: VirtualChannel) -> str:
    return f"virtual channel {virtual.layout.number}"


# ---- what is no record -----------------------------------------------------------------------------------------------
def _event(channel: TargetChannel, element: Recovered | Unreadable, found: Found) -> None:
    if type(element) is Watermark:
        found.watermark = _watermark(channel, element.time)
        channel.watermark = element.time
    elif type(element) is Status:
        if not any(one.may_be(element.active) for one in channel.virtuals) or not (
            element.active or all(one.may_be(active=False) for one in channel.virtuals)
        ):
            owed = "a channel is idle only if all its virtual channels are, and active only if one of them is"
            found.idle = Broken(FailureClass.CORRUPTED, owed, f"it became {'active' if element.active else 'idle'}")
        else:
            found.idle = found.idle or True
        channel.active = element.active
    elif type(element) is LatencyMarker:
        _marker(channel, element, found)
    elif type(element) is Attributes:
        channel.attributes += 1
        most = sum(type(one) is Attributes for virtual in channel.virtuals for one in virtual.layout.elements)
        if channel.attributes > most:
            owed = f"at most {many(most, 'time')} attributes may come"
            found.markers = Broken(FailureClass.DUPLICATED, owed, "they came once more")
        else:
            found.markers = found.markers or True


def _watermark(channel: TargetChannel, time: int) -> Judgement:
    for one in channel.virtuals:
        highest = one.watermark()
        if highest is None:
            owed = f"the {_of(one)} has had no watermark, so none may come"
            return Broken(FailureClass.CORRUPTED, owed, f"watermark {time} came")
        if time > highest:
            owed = f"the {_of(one)} has come to watermark {highest}, so none above it may come"
            return Broken(FailureClass.CORRUPTED, owed, f"watermark {time} came")
    if channel.watermark is not None and time < channel.watermark:
        owed = f"watermarks never fall, and watermark {channel.watermark} came before"
        return Broken(FailureClass.REORDERED, owed, f"watermark {time} came")
    return True


def _marker(channel: TargetChannel, element: LatencyMarker, found: Found) -> None:
    there = any(element in one.layout.elements for one in channel.virtuals)
    if not there:
        found.whole = Broken(
            FailureClass.CORRUPTED, "only markers come that were recovered", f"this came: {recovered_in_words(element)}"
        )
    elif element.time in channel.markers:
        found.markers = Broken(FailureClass.DUPLICATED, "a latency marker comes once at most", "it came again")
    else:
        found.markers = found.markers or True
    channel.markers |= {element.time}


def _pass(channel: TargetChannel, element: Recovered | Unreadable, found: Found) -> None:
    """Judges an element if nothing is rescaled: everything comes as it was."""
    elements = [one for virtual in channel.virtuals for one in virtual.layout.elements]
    owed = elements[channel.passed] if channel.passed < len(elements) else None
    channel.passed += 1
    if element != owed:
        kind = FailureClass.REORDERED if element in elements else FailureClass.CORRUPTED
        owing = f"this comes next: {recovered_in_words(owed)}" if owed is not None else "nothing more comes"
        found.passed = (
            found.passed
            if type(found.passed) is Broken
            else Broken(kind, owing, f"this came: {recovered_in_words(element)}")
        )
    else:
        found.passed = found.passed or True


# ---- the end ---------------------------------------------------------------------------------------------------------
def _judge_end(config: FilterConfig, channel: TargetChannel, found: Found) -> None:
    if channel.open:
        owed = "what is taken ends with an element"
        found.whole = Broken(FailureClass.CORRUPTED, owed, f"it ended with {many(channel.open, 'byte')} of another")
    for one in channel.virtuals:
        left = one.left()
        if not one.layout.kept:
            continue
        broken: Judgement = True
        if left:
            element = one.layout.elements[left[0]]
            assert isinstance(element, Record)
            owed = f"{_id(element)} of the {_of(one)} belongs here"
            broken = Broken(FailureClass.LOST, owed, "everything was taken out of the channel without it")
        if one.layout.ambiguous:
            found.belongs = broken if left else found.belongs or True
        else:
            found.everything = broken if left else found.everything or True
    if not config.rescaled:
        most = sum(one.layout.complete(one.layout.total) for one in channel.virtuals)
        if channel.passed < most and type(found.passed) is not Broken:
            owed = f"{many(most, 'element')} must come"
            found.passed = Broken(FailureClass.LOST, owed, f"{many(channel.passed, 'element')} came")
        return
    if any(type(element) is LatencyMarker for one in channel.virtuals for element in one.layout.elements):
        found.markers = found.markers or True
    minimum = channel.minimum()
    if minimum is not None:
        owed = f"the minimum of the watermarks is {minimum} in the end"
        came = "no watermark came" if channel.watermark is None else f"the last watermark was {channel.watermark}"
        found.last_watermark = channel.watermark == minimum or Broken(FailureClass.LOST, owed, came)
    active = channel.is_active_at_the_end()
    if any(type(element) is Status for one in channel.virtuals for element in one.layout.elements):
        owed = f"in the end it is {truth(active)} that one of the virtual channels is active"
        found.last_status = channel.active is active or Broken(
            FailureClass.LOST, owed, f"the channel was left {'active' if channel.active else 'idle'}"
        )
