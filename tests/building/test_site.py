"""The documentation site: it has every page, its links lead somewhere, and it needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|img|iframe|source)[^>]*\bsrc=\"([^\"]*)|<link[^>]*\bhref=\"([^\"]*)|url\(([^)]*)\)")
FROM_ELSEWHERE = re.compile(r"['\"]?(?:https?:)?//")


def build(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-c", str(ROOT / "building")]
    return subprocess.run(
        [*command, "-d", str(to / "doctrees"), str(source), str(to / "site")],
        capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip


def test_a_link_to_a_number_or_file_that_is_not_there_is_an_error(tmp_path):
    pages = {
        "README.md": "# First\n\n[good](docs/specification/gate.md#G1), [bad](docs/specification/gate.md#G2) and "
                     "[gone](docs/gone.md), [apart](setup.cfg)\n",
        "docs/specification/gate.md": '# Gate\n\n<a id="G1"></a>**G1** As [said](#G1), [not](#G3).\n\n'
                                      "[in words](../../README.md#first)\n",
        "setup.cfg": "",
    }  # fmt: skip
    for name, text in pages.items():
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_text(text)
    done = build(tmp_path / "pages", tmp_path)
    assert done.returncode != 0
    missing = re.findall(r"^(\S+\.md):\d+: WARNING: .*\[myst\.xref_missing\]", done.stderr, re.MULTILINE)
    named = re.findall(r"(?:'|\b)(G\d|docs/gone\.md|G1|setup\.cfg|first)'", done.stderr)
    assert sorted(Path(one).name for one in missing) == ["README.md", "README.md", "gate.md"], done.stderr
    assert {"G2", "G3", "docs/gone.md"} == set(named)


LINKED = re.compile(r'href="([^"#:]+)["#]')


def dead_links_of(page: Path) -> set[str]:
    linked = set(LINKED.findall(page.read_text(encoding="utf-8")))
    assert linked
    return {one for one in linked if not (page.parent / one).is_file()}


def test_a_page_with_its_bug_reports_is_published_in_its_place(tmp_path):
    pages = {
        "README.md": "# First\n\n[the `page`](reports/campaign-example/index.html#failures), "
                     "`[no link](reports/campaign-example/index.html)`\n",
        "reports/campaign-example/index.html": '<a href="gate-1/report.md">report</a>',
        "reports/campaign-example/gate-1/report.md": "# No page of the site\n\n[dead](nowhere.md)\n",
        "site/reports/campaign-example/gate-0/report.md": "of an earlier build",
    }  # fmt: skip
    for name, text in pages.items():
        path = tmp_path / name if name.startswith("site/") else tmp_path / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = build(tmp_path / "pages", tmp_path)
    others = [line for line in done.stderr.splitlines() if line and "WARNING: toctree " not in line]
    assert others == [], "but for the pages that the contents name, and that are not there"
    site = tmp_path / "site"
    first = (site / "README.html").read_text(encoding="utf-8")
    assert 'href="reports/campaign-example/index.html#failures"' in first
    assert first.count('href="reports/campaign-example/') == 1
    assert dead_links_of(site / "reports" / "campaign-example" / "index.html") == set()
    assert not (site / "reports" / "campaign-example" / "gate-0").exists()


@pytest.mark.slow  # half a minute; `make docs` builds the same in continuous integration
def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(tmp_path):
    done = build(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    written = [
        *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md"),
        *ROOT.glob("reports/**/*.md"),
    ]  # fmt: skip
    pages = {file.relative_to(ROOT).with_suffix(".html").as_posix() for file in written} | {"index.html"}
    assert len(pages) > 100
    assert {page for page in pages if not (site / page).is_file()} == set()
    assert 'href="campaign-example/index.html"' in (site / "reports" / "README.html").read_text(encoding="utf-8")
    assert dead_links_of(site / "reports" / "campaign-example" / "index.html") == set()
    styles = [*site.rglob("*.html"), *site.rglob("*.css")]
    loaded = {
        f"{file.relative_to(site)}: {address}"
        for file in styles
        for found in LOADED.findall(file.read_text(encoding="utf-8"))
        for address in found
        if FROM_ELSEWHERE.match(address)
    }
    assert loaded == set()
