"""Makes text that comes from elsewhere harmless, before it is printed or written. This is the only place that does it.

A name, a result, an error or a field of a file is text of somebody else. It must not act on a terminal, must not begin
a line that looks like one of the suite, and must not be read as markup. Each function is for one way out:

- `neutral_line` for a line of a terminal or a log, and `neutral` for several lines of which the suite is the author;
- `markdown`, `markdown_code` and `markdown_block` for Markdown; `in_a_cell` keeps a cell of its tables a cell;
- `mermaid` for a label of a diagram;
- `html` for a line of HTML within Markdown. On pages, the templates escape every text, which is a `neutral_line`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEPT = "\n\t"
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Python takes for printable although nobody can see it: fillers, blanks and selectors of variants."""
_MARKS = re.compile(r"[\\`*|~$\[\]]|(?<!\w)_|_(?!\w)")
"""What Markdown reads as markup inside a line. An underscore within a word is none."""
_BARE_PIPE = re.compile(r"((?:^|[^\\])(?:\\\\)*)\|")
_MARK = "| "
_FENCE = re.compile(r"`{3,}")
# Mermaid reads # as the beginning of an entity or a comment, ; as the end of a statement, % as the beginning of a
# directive, $$ as mathematics, and the rest as HTML.
_MERMAID = str.maketrans({
    "#": "#35;", ";": "#59;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "%": "#37;", "$": "#36;",
    "{": "#123;", "}": "#125;", "`": "#96;", "\\": "#92;",
})  # fmt: skip


def neutral(text: str) -> str:
    """Returns the text with escape sequences in place of control characters and of everything else that is invisible.

    Line breaks and tabs are kept. A terminal that prints the result does nothing but print it.
    """
    if text.isascii():
        if text.isprintable():
            return text
    elif _UNSEEN.search(text) is None and text.isprintable():
        return text
    return "".join(one if _is_seen(one) or one in _KEPT else _escaped(one) for one in text)


def neutral_line(text: str) -> str:
    """Returns the text as `neutral` does, but on one line: line breaks and tabs are escape sequences, too."""
    return neutral(text).replace("\n", "\\n").replace("\t", "\\t")


def neutral_lines(lines: Iterable[str]) -> str:
    """Returns lines, each of which stays one, whatever is in it."""
    return "\n".join(map(neutral_line, lines))


def is_neutral_line(text: str) -> bool:
    """Whether the text is on one line, and everything in it can be seen."""
    return neutral_line(text) == text


def markdown(text: str) -> str:
    """Returns the text for a line of Markdown, in a table or not, which shows it as it is."""
    return _MARKS.sub(_marked, neutral_line(text).replace("&", "&amp;").replace("<", "&lt;"))


def markdown_code(text: str) -> str:
    """Returns the text as code in a line of Markdown, in a table or not."""
    line = neutral_line(text)
    if line.strip() == line != "" and not set("`|") & set(line):
        return f"`{line}`"
    return f"<code>{markdown(line)}</code>"


def markdown_block(text: str, language: str = "") -> str:
    """Returns lines of code as a block. `text`: lines that the suite has written; in each, a stranger may have words.

    No line of it can end the block, since its fence is longer than everything that looks like one.
    """
    lines = neutral(text).rstrip("\n")
    fence = "`" * (1 + max((len(one) for one in _FENCE.findall(lines)), default=2))
    return f"{fence}{language}\n{lines}\n{fence}"


def html(text: str) -> str:
    """Returns the text for a line of HTML within Markdown. A page is written by templates, which do this themselves."""
    return neutral_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def in_a_cell(content: str) -> str:
    """Returns Markdown for a cell of a table: on one line, and without a bar that would end the cell."""
    return _BARE_PIPE.sub(r"\1\\|", _BARE_PIPE.sub(r"\1\\|", neutral_line(content)))


def mermaid(text: str) -> str:
    """Returns the text for a label of a Mermaid diagram, which shows it as it is, on one line."""
    return neutral_line(" ".join(text.split())).translate(_MERMAID)


def indented(text: str) -> str:
    """Returns lines of which only the first begins at the margin, so that no other looks like a line of the suite."""
    return neutral(text).replace("\n", "\n  ")


class Quoted:
    """Marks each line of a log of somebody else, which comes in parts, so that none looks like one of the suite."""

    def __init__(self) -> None:
        self._begins = True

    def __call__(self, part: str) -> str:
        """Returns the next part of the log, harmless, with a mark at the beginning of each line."""
        marked = []
        for line in neutral(part).splitlines(keepends=True):
            marked += [_MARK, line] if self._begins else [line]
            self._begins = line.endswith("\n")
        return "".join(marked)

    def end(self) -> str:
        """Returns the end of the last line, if it has none, so that a line of the suite can follow."""
        ends, self._begins = self._begins, True
        return "" if ends else "\n"


def _is_seen(one: str) -> bool:
    return one.isprintable() and _UNSEEN.match(one) is None


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode()


def _marked(found: re.Match[str]) -> str:
    return "'" if found[0] == "`" else f"\\{found[0]}"
