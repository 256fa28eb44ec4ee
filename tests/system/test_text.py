"""Text from elsewhere does nothing to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.system.text import (
    Quoted,
    in_a_cell,
    indented,
    is_neutral_line,
    markdown,
    markdown_block,
    markdown_code,
    neutral,
    neutral_line,
    neutral_lines,
)


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


@pytest.mark.parametrize(
    ("text", "in_markdown"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("<script>", "&lt;script>"),
        ("&lt;", "&amp;lt;"),
        ("[a](b)", r"\[a\](b)"),
        ("a_b _c_", r"a_b \_c\_"),
        ("`a` *b* ~~c~~ $d$", r"'a' \*b\* \~\~c\~\~ \$d\$"),
        ("a\n# b", r"a\\n# b"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text, in_markdown):
    assert markdown(text) == in_markdown


def test_code_in_a_line_of_markdown_ends_where_it_ends():
    assert markdown_code("poll") == "`poll`"
    assert markdown_code("a`b|c<d") == r"<code>a'b\|c&lt;d</code>"
    assert markdown_code("") == "<code></code>"


def test_no_line_of_a_block_ends_it():
    assert markdown_block("a\n```\n````\nb", "sh") == "`````sh\na\n```\n````\nb\n`````"
    assert markdown_block("a\x1b[2J\n") == "```\na\\x1b[2J\n```"


def test_a_bar_does_not_end_a_cell():
    assert in_a_cell("a || b") == r"a \|\| b"
    assert in_a_cell(r"a \| b") == r"a \| b"
    assert in_a_cell(r"a \\| b") == r"a \\\| b"
    assert in_a_cell("a\nb") == r"a\nb"


def test_what_nobody_can_see_is_shown():
    hidden = "\u200b\u202e\u2066\ufeff\u3164\u115f\u2800\ufe0f\u034f\U000e0101\u00ad\x85\u2028\x9b"
    for one in hidden:
        assert neutral_line(f"a{one}b") == f"a{one.encode('unicode_escape').decode()}b"
        assert not is_neutral_line(one)
    assert neutral_line("für 日本 naïve ∞ 🙂") == "für 日本 naïve ∞ 🙂"


def test_the_lines_of_a_log_have_a_mark_however_they_come():
    quoted = Quoted()
    assert [quoted(part) for part in ("a\nb", "c\n", "\n", "", "d")] == ["| a\n| b", "c\n", "| \n", "", "| d"]


def test_only_the_first_line_begins_at_the_margin():
    assert indented("a\nb\r\nc") == "a\n  b\\r\n  c"
    assert neutral_lines(["a\nb", "c"]) == "a\\nb\nc"
