"""The page of a check, a pytest run or a campaign: one HTML file with everything in it, and no script.

The same result gives the same bytes: nothing on the page depends on the time, the host or the folder, but for the
sentences about what is missing, which may name them. Every text of an
implementation or a file is escaped, and the policy in the head forbids a browser to run or load anything.
"""

from __future__ import annotations

import errno
import hashlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from conformance import __version__
from conformance.engines.exercise import Exercise
from conformance.engines.tally import Signature
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.differences import Differences
from conformance.reporting.episode_reports import EpisodeReport
from conformance.reporting.markdown import Report
from conformance.reporting.page_sections import Sections, sections_of
from conformance.reporting.severity import ORDER
from conformance.reporting.since import Since
from conformance.reporting.verdicts import Verdicts
from conformance.system.files import opened
from conformance.system.text import neutral_line
from conformance.system.writing import write_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt

PAGE = "index.html"
GENERATOR = "checkpoint-conformance"
"""In the head of every page, so that the suite replaces only what it has written."""
_LONGEST = 4000
"""How many characters of one text the page shows. The folder of a finding has everything."""

Key = tuple[str, str, Signature]
"""Names a finding: the implementation, the component and the signature."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a page shows."""

    verdicts: Verdicts
    status: str
    """A sentence about the exit status or, if it is not over, about how far it is."""
    evidence: Mapping[Key, Report]
    """The findings that were replayed, with their replays."""
    exercise: Mapping[tuple[str, str], Exercise]
    """In which settings properties were judged, by implementation and component."""
    about: Sequence[tuple[str, str]] = ()
    """What was run, as name and value."""
    unfinished: Sequence[str] = ()
    """Sentences that say what is missing; empty if it is over."""
    differences: Differences | None = None
    """Where implementations differ from the baseline; None if they were not compared."""
    since: Since | None = None
    """What has changed since another campaign; None if none was named."""
    episodes: Sequence[EpisodeReport] = ()
    """The findings of a campaign of episodes, which were not replayed."""
    folders: bool = True
    """Whether each finding that was replayed has a folder beside the page."""


def key_of(report: Report) -> Key:
    """Return the name of a finding that was replayed."""
    return report.implementation, report.found.scenario.component, report.found.signature


def evidence_by_key(reports: Iterable[Report]) -> dict[Key, Report]:
    """Return findings that were replayed by their names."""
    return {key_of(one): one for one in reports}


def page_of(content: Content) -> str:
    """Return the page."""
    style = _environment().get_template("page.css").render()
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    sections: Sections = sections_of(
        content.verdicts, content.evidence, content.exercise, report_folder_name if content.folders else None
    )
    text = _environment().get_template("page.html").render(
        content=content, sections=sections, style=Markup(style), digest=digest, version=__version__,
        generator=GENERATOR, order=ORDER, new={one.key for one in content.since.new} if content.since else set(),
    )  # fmt: skip
    return text + "\n"


def write_index(folder: Path, content: Content) -> Path:
    """Write the page into a folder, and return its path.

    Raises: FileExistsError if there is a page that the suite has not written; OSError.
    """
    path = folder / PAGE
    check_index(folder)
    write_text(path, page_of(content))
    return path


def check_index(folder: Path) -> None:
    """Raise a FileExistsError if the page would replace a file that the suite has not written."""
    path = folder / PAGE
    if not path.exists():
        return
    with opened(path) as file:
        if f'<meta name="generator" content="{GENERATOR}'.encode() not in file.read(2000):
            why = "it was not written by this suite, and is not overwritten; move it, or name another folder"
            raise FileExistsError(errno.EEXIST, why, str(path))


@cache
def _environment() -> Environment:
    # A command that writes no page starts faster without the libraries that write it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("conformance.reporting", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_seen,
    )  # fmt: skip
    environment.filters |= {"shown": shown, "number": "{:,}".format, "paragraph": paragraph}
    return environment


def shown(text: object) -> str:
    """Return a text on one line, without control characters, and cut off if it is very long."""
    words = neutral_line(str(text))
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}… (cut off here: {len(words):,} characters)"


def _seen(value: object) -> object:
    """Return what an expression of a template has found, with its text harmless. It is escaped for HTML afterwards."""
    return neutral_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def paragraph(text: str) -> Markup:
    """Return a paragraph of the specification, which is Markdown, as HTML. HTML in it is shown as it is written."""
    return Markup(_markdown().renderInline(text))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).disable(["link", "image", "autolink"])
