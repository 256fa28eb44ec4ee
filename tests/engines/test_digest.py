"""Recognising states: nothing that differs may be merged, on every supported Python."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from functools import partial
from itertools import combinations
from typing import NamedTuple

import pytest

from conformance.engines.digest import CannotRecognise, Recogniser, check_recognition, outcomes
from conformance.engines.recognition import WideHash
from conformance.ports import DataAvailable
from conformance.scheduling import Kernel, Lock


def test_exploration_sees_the_same_outcomes_with_and_without_recognition():
    everything = {(0, 0), (0, 1), (1, 0), (1, 1), None}
    assert outcomes(9, Recogniser()).keys() == everything == outcomes(7, None).keys()


def test_locals_and_instruction_alone_merge_different_futures():
    """The reason for looking at the evaluation stack: without it, outcomes are missed, in silence."""

    class WithoutTheStack(Recogniser):
        def _frames(self, coroutine, out, met):
            while coroutine is not None:
                frame = getattr(coroutine, "cr_frame", None) or coroutine.gi_frame
                out += (frame.f_code, frame.f_lasti)
                for value in frame.f_locals.values():
                    self._value(value, out, met)
                coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)

    assert outcomes(9, WithoutTheStack()).keys() < outcomes(9, Recogniser()).keys()


def test_recognition_works_on_this_python():
    check_recognition()


class Holder:
    def __init__(self, *values):
        self.values = list(values)


def walk(*roots):
    return Recogniser().walk(*roots)


def test_sharing_counts():
    one, other = [1], [1]
    assert walk(Holder(one, one)) != walk(Holder(one, other))
    assert walk(Holder(one, other)) == walk(Holder([1], [1]))


def test_an_object_met_twice_in_a_row_is_not_taken_for_a_new_one():
    loop: list[object] = []
    loop.append(loop)
    assert walk(loop) == walk(loop)


def test_the_order_of_insertion_counts():
    assert walk({1: 2, 3: 4}) != walk({3: 4, 1: 2})


def test_the_position_of_an_iterator_counts():
    values = [1, 2, 3]
    one, other = iter(values), iter(values)
    next(other)
    assert walk(one) != walk(other)


def test_attributes_count_whatever_the_order_in_which_they_came():
    recogniser = Recogniser()
    one = recogniser.walk(namespace(a=1, b=2))
    assert one == recogniser.walk(namespace(b=2, a=1))
    assert one != recogniser.walk(namespace(a=1, c=2))


def namespace(**values):
    holder = Holder()
    vars(holder).update(values)
    return holder


@pytest.mark.parametrize("value", [{1, 2}, memoryview(b"x"), deque([1])])
def test_what_is_not_known_is_refused(value):
    with pytest.raises(CannotRecognise, match="cannot be compared with another"):
        walk([value])


def test_the_content_of_a_byte_array_counts_and_whether_it_is_the_same():
    one = bytearray(b"x")
    assert walk([one, one]) == walk([other := bytearray(b"x"), other])
    assert walk([one, one]) != walk([one, bytearray(b"x")])
    assert walk(one) != walk(bytearray(b"y"))


def test_a_named_tuple_counts_with_its_name_and_its_values():
    class First(NamedTuple):
        x: object

    class Second(NamedTuple):
        x: object

    assert walk(First([1])) == walk(First([1])) != walk(First([2]))
    assert walk(First(1)) != walk(Second(1))


def test_the_position_of_a_generator_counts():
    def letters(*text):
        for letter in text:
            yield letter.lower()

    one, other = letters("a", "b", "c"), letters("a", "b", "c")
    assert walk(one) == walk(other) != walk(letters("a", "b", "d"))
    next(one)
    assert walk(one) != walk(other)
    assert next(one) == "b"
    assert list(one) == ["c"]
    assert walk(one) != walk(other)


def test_fields_that_only_c_can_read_are_refused_although_the_object_has_attributes():
    class Ours(deque[int]):
        """Has a `__dict__`; the elements are not in it."""

    with pytest.raises(CannotRecognise, match="Ours, whose content cannot be read"):
        walk([Ours([1])])


def test_a_value_that_only_c_can_read_is_refused_although_it_is_as_large_as_one_attribute():
    class Ours(float):
        __slots__ = ()

    with pytest.raises(CannotRecognise, match="Ours, whose content cannot be read"):
        walk([Ours(1)])


def test_a_partial_is_not_what_it_was_given():
    assert walk(partial(min, 1)) != walk(min, (1,), {})


def test_what_a_partial_was_given_counts():
    def call(number):
        return partial(min, number, key=abs)

    assert walk([call(1)]) != walk([call(2)])
    assert walk([call(1)]) == walk([call(1)])
    once = call(1)
    assert walk([once, once]) != walk([call(1), call(1)])


def test_a_closure_is_looked_into():
    def make(number):
        return lambda: number

    assert walk([make(1)]) != walk([make(2)])
    assert walk([make(1)]) == walk([make(1)])


def test_who_holds_a_lock_and_where_a_thread_pauses_count():
    def state(turns):
        kernel = Kernel(("a", "b"), fine=True)
        lock = Lock("lock")

        async def work():
            async with lock:
                await Lock("other")

        kernel.start(kernel.threads["a"], ("work",), work())
        for _ in range(turns):
            kernel.run(kernel.threads["a"])
        return kernel, lock

    recogniser = Recogniser()
    states = []
    for turns in (0, 1, 2):
        kernel, lock = state(turns)
        states.append(recogniser.walk(lock, *kernel.threads.values()))
        kernel.close()
    assert len(set(states)) == 3


def test_what_a_paused_operation_has_signalled_counts():
    one, other = (Kernel(("a",), fine=True).threads["a"] for _ in range(2))
    assert walk(one) == walk(other)

    async def pauses() -> None:
        await Lock("a lock").__aenter__()

    kernels = Kernel(("a",), fine=True), Kernel(("a",), fine=True)
    for kernel in kernels:
        kernel.start(kernel.threads["a"], ("step",), pauses())
    one, other = (kernel.threads["a"] for kernel in kernels)
    assert walk(one) == walk(other)
    other.emitted.append(DataAvailable())
    assert walk(one) != walk(other)
    for kernel in kernels:
        kernel.close()


class Private:
    __slots__ = ("__n",)

    def __init__(self, n: object) -> None:
        self.__n = n


class OneSlot:
    __slots__ = "count"  # a single string, as Python allows

    def __init__(self, n: object) -> None:
        self.count = n


class Below(Private):
    __slots__ = ("more",)

    def __init__(self, n: object) -> None:
        super().__init__(0)
        self.more = n


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("kind", [Private, OneSlot, Below])
def test_every_slot_counts_whatever_its_name(kind):
    assert walk(kind(1)) == walk(kind(1)) != walk(kind(2))
    assert walk(kind([1])) == walk(kind([1])) != walk(kind([2]))


def test_a_slot_without_a_value_is_not_any_value():
    empty = OneSlot("unset")
    del empty.count
    assert walk(empty) != walk(OneSlot("unset"))


def test_what_a_function_takes_unless_it_is_given_counts():
    def make(number):
        return lambda n=number: n, lambda *, n=number: n

    for one, same, other in zip(make(1), make(1), make(2), strict=True):
        assert walk([one]) == walk([same]) != walk([other])


EQUAL = [1, 1.0, True, 0, 0.0, -0.0, False, "red", Colour.RED]


@pytest.mark.parametrize("held", [Holder, OneSlot, lambda value: (value,), lambda value: {value: 0}])
def test_values_that_are_equal_and_no_same_result_are_different_states(held):
    recogniser, wide = Recogniser(), WideHash()
    for one, other in combinations(EQUAL, 2):
        assert recogniser.walk(held(one)) == recogniser.walk(held(one)) != recogniser.walk(held(other))
        assert wide.of(recogniser.walk(held(one))) != wide.of(recogniser.walk(held(other)))


def test_whether_a_paused_operation_may_end_in_any_way_counts():
    async def pauses() -> None:
        await Lock("a lock").__aenter__()

    kernel = Kernel(("a",), fine=True)
    kernel.start(kernel.threads["a"], ("step",), pauses())
    judged = walk(kernel.threads["a"])
    kernel.leave_open()
    assert walk(kernel.threads["a"]) != judged
    kernel.close()
