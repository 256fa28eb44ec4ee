"""How Sphinx makes the site of the documentation from the pages of the repository, in the places that they have there.

The pages are written for people who read them in the repository. What differs on the site is done here: the first page
is the README; pages link only to what the site has; and the numbers of the specification (`<a id="G7"></a>`) are known
as targets of links, so that a link to a number that is not there ends the build.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from building.links import with_links_to, with_plain_links_into  # noqa: E402
from conformance import __version__  # noqa: E402

project = "Checkpoint conformance"
author = "the maintainers"
version = release = __version__
html_title = f"Checkpoint conformance {__version__}"

root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/*/README.md", "reports/**.md"]  # ** crosses folders
exclude_patterns = ["reports/campaign-example/*/**"]  # no pages of the site: they are published as they are
FILES = (
    "LICENSE", "docs/*.schema.json", "examples/*/adapter.*", "reports/exploration/*.json",
    "reports/flink-findings/**/*.java", "reports/bytewax-findings/**/*.py", "reports/spark-findings/*.py",
)  # fmt: skip
"""What pages link to and is published as it is, each file by itself."""
FOLDERS = ("reports/campaign-example",)
"""What is published as it is, in its place: its page links to the files beside it."""

CONTENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "README": {
        "First steps": (
            "docs/tutorial",
            "docs/pytest",
            "docs/not-exercised",
            "docs/exploration",
            "docs/jsonl-protocol",
            "examples/*/README",
        ),
        "Guides": (
            "docs/campaigns",
            "docs/episodes",
            "docs/judge",
            "docs/strategies",
            "docs/flink",
            "docs/files",
            "docs/channel-state-files",
        ),
        "Reference": ("docs/specification/README", "CHANGELOG"),
        "Published reports": ("reports/README", "reports/*", "reports/flink-findings/README"),
        "Working on the suite": ("CONTRIBUTING", "ARCHITECTURE", "docs/decisions/README"),
    },
    "docs/specification/README": {"": ("docs/specification/*",)},
    "docs/decisions/README": {"": ("docs/decisions/*",)},
    "reports/flink-findings/README": {"": ("reports/flink-findings/*/*",)},
    "reports/bytewax-findings": {"": ("reports/bytewax-findings/*/*",)},
}
"""The pages that have others below them: for each caption what is there, a star standing for all that fit."""

extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # blocks of Mermaid are shown as text
html_theme = "furo"
html_copy_source = False
html_use_index = False
html_show_sphinx = False

_ANCHOR = re.compile(r'<a id="([^"]+)">')


class NumbersAreTargets(SphinxTransform):
    """Makes the numbers of rules known to MyST, which otherwise knows headings only."""

    default_priority = 500  # before MyST resolves the links of the page

    def apply(self, **_: Any) -> None:
        """Add the numbers of one page."""
        targets = self.document.myst_slugs
        for raw in self.document.findall(nodes.raw):
            for number in _ANCHOR.findall(raw.astext()):
                targets[number] = (raw.line, number, "")


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace links to files that the site does not have, and add what is below the page."""
    published = {f"{name}.md" for name in app.env.found_docs}
    published |= {one.relative_to(ROOT).as_posix() for pattern in FILES for one in ROOT.glob(pattern)}
    root, file = Path(app.srcdir), f"{page}.md"
    source[0] = with_links_to(published, root, file, with_plain_links_into(FOLDERS, root, file, source[0]))
    for caption, entries in CONTENTS.get(page, {}).items():
        options = [":hidden:", ":glob:", *([f":caption: {caption}"] if caption else [])]
        listed = [f"/{entry}" for entry in entries]
        source[0] += "\n".join(("", "", "```{toctree}", *options, "", *listed, "```", ""))


def add_folders_and_front_door(app: Sphinx, error: Exception | None) -> None:
    """Copy the folders that are published as they are, and the first page: browsers and servers open index.html."""
    if error is None and app.builder.format == "html":
        for folder in FOLDERS:
            shutil.rmtree(Path(app.outdir, folder), ignore_errors=True)  # bug reports of an earlier build
            if Path(app.srcdir, folder).is_dir():
                shutil.copytree(Path(app.srcdir, folder), Path(app.outdir, folder))
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what this file adds."""
    app.add_transform(NumbersAreTargets)
    app.connect("source-read", prepare)
    app.connect("build-finished", add_folders_and_front_door)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
