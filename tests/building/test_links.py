"""What becomes of links to files that are not published."""

from __future__ import annotations

import pytest

from building.links import with_links_to

PUBLISHED = {"docs/a.md", "docs/b.md", "docs/deep/README.md", "docs/deep/c.md"}
KEPT = (*PUBLISHED, "reports/r.md", "x.md")


@pytest.fixture
def root(tmp_path):
    for name in KEPT:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("[b](b.md)", "[b](b.md)"),
        ("[b](b.md#part)", "[b](b.md#part)"),
        ("[c](deep/c.md)", "[c](deep/c.md)"),
        ("[deep](deep)", "[deep](deep/README.md)"),
        ("[deep](deep/#part)", "[deep](deep/README.md#part)"),
        ("[the report](../reports/r.md)", "the report (`reports/r.md`)"),
        ("[the\nreport](../reports/r.md#here)", "the\nreport (`reports/r.md`)"),
        ("lost ([reports](../reports/r.md))", "lost (reports, `reports/r.md`)"),
        ("[reports/r.md](../reports/r.md)", "`reports/r.md`"),
        ("[`../reports`](../reports/)", "`reports`"),
        ("[x](../x.md) and [b](b.md)", "x (`x.md`) and [b](b.md)"),
        ("[here](#part)", "[here](#part)"),
        ("[far](https://example.org/x.md)", "[far](https://example.org/x.md)"),
        ("`[x](../x.md)`", "`[x](../x.md)`"),
        ("``[x](`../x.md`)``", "``[x](`../x.md`)``"),
        ("```\n[x](../x.md)\n```\n[x](../x.md)", "```\n[x](../x.md)\n```\nx (`x.md`)"),
        ("[gone](../gone.md#part)", "[gone](../gone.md#part)"),
        ("", ""),
    ],
)
def test_a_link_stays_only_where_its_file_is_published(root, text, becomes):
    assert with_links_to(PUBLISHED, root, "docs/a.md", text) == becomes


def test_nothing_may_be_published_with_it(root):
    assert with_links_to((), root, "README.md", "[docs](docs/a.md)") == "docs (`docs/a.md`)"
