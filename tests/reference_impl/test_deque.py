"""The prioritised deque, rule by rule of deque.md."""

from __future__ import annotations

from conformance.ports import Item
from reference_impl.network.deque import Deque


def fresh(ordinary: str = "", priority: str = "") -> Deque:
    """A deque with an element for each letter. Elements with the same letter, also in capitals, are equal."""
    made = Deque()
    for letter in priority:
        made.add_priority(item(letter))
    for letter in ordinary:
        made.add(item(letter))
    return made


def item(letter: str) -> Item:
    return Item(ord(letter), ord(letter.lower()))


def order(one: Deque) -> str:
    return "".join(map(chr, one.items()))


def test_ordinary_elements_are_polled_first_in_first_out():
    """deque.md D1, D5, D8."""
    one = fresh("abc")
    assert order(one) == "abc"
    assert [one.poll() for _ in range(4)] == [ord("a"), ord("b"), ord("c"), None]


def test_priority_elements_come_before_all_others_and_keep_their_order():
    """deque.md D2, D5, D7."""
    one = fresh("ab", priority="x")
    one.add_priority(item("y"))
    assert (order(one), one.count_priority()) == ("xyab", 2)
    assert one.poll() == ord("x")
    assert (order(one), one.count_priority()) == ("yab", 1)


def test_an_element_that_gains_priority_is_the_last_of_those_that_have_it():
    """deque.md D3, D6."""
    one = fresh("abc", priority="xy")
    one.prioritize(ord("b"))
    assert (order(one), one.count_priority()) == ("xybac", 3)
    assert one.contains_priority(ord("b"))
    one.prioritize(ord("x"))
    assert (order(one), one.count_priority()) == ("xybac", 3)


def test_an_element_is_never_taken_for_an_equal_one():
    """deque.md D3, D4, D6."""
    one = fresh("aAbB", priority="x")
    one.prioritize(ord("A"))
    assert order(one) == "xAabB"
    assert not one.contains_priority(ord("a"))
    one.remove(ord("B"))
    assert order(one) == "xAab"


def test_an_element_is_removed_wherever_it_stands():
    """deque.md D4, D7."""
    one = fresh("abc", priority="xy")
    one.remove(ord("b"))
    assert (order(one), one.count_priority()) == ("xyac", 2)
    one.remove(ord("x"))
    assert (order(one), one.count_priority()) == ("yac", 1)


def test_a_released_deque_is_empty_and_may_be_released_again():
    """deque.md D5, D7 to D9."""
    one = fresh("a", priority="x")
    for _ in range(2):
        one.release()
        assert (one.items(), one.count_priority(), one.poll()) == ((), 0, None)
