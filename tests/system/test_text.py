"""Text from elsewhere does nothing to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.system.text import neutral


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain — text", "plain — text"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("over\rwritten\b", "over\\rwritten\\x08"),
        ("two\n\tlines", "two\n\tlines"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\udc80", "\\udc80"),
    ],
)
def test_control_characters_become_visible(text, expected):
    assert neutral(text) == expected


@given(st.text())
def test_nothing_but_printable_characters_and_line_breaks_is_left(text):
    found = neutral(text)
    assert all(one.isprintable() or one in "\n\t" for one in found)
    assert neutral(found) == found
    found.encode()
