"""What the build backend does beyond copying files: the documentation in the wheel, and the README in the metadata.

Hatchling loads this file by its path, not as a module of a package.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

INSTALLED = "conformance/documentation"
"""Where the folder `docs` is in the wheel."""

_with_links_to: Callable[[Collection[str], Path, str, str], str] = runpy.run_path(
    str(Path(__file__).with_name("links.py"))
)["with_links_to"]  # fmt: skip


class Documentation(BuildHookInterface[Any]):
    """Puts the pages of `docs` into the wheel, with links only to pages that are there too."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages. An editable installation reads them where they are."""
        if version == "editable":
            return
        root = Path(self.root)
        files = sorted(file for file in (root / "docs").rglob("*") if file.is_file())
        published = {file.relative_to(root).as_posix() for file in files}
        self._rewritten = TemporaryDirectory(prefix="documentation-")
        for file in files:
            place = file.relative_to(root).as_posix()
            source = file
            if file.suffix == ".md":
                source = Path(self._rewritten.name, place)
                source.parent.mkdir(parents=True, exist_ok=True)
                text = file.read_text(encoding="utf-8")
                source.write_text(_with_links_to(published, root, place, text), encoding="utf-8", newline="\n")
            build_data["force_include"][str(source)] = f"{INSTALLED}/{place.removeprefix('docs/')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the rewritten pages."""
        if version != "editable":
            self._rewritten.cleanup()


class Readme(MetadataHookInterface):
    """Makes the long description: the README, which has no files next to it where packages are shown."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`."""
        root = Path(self.root)
        text = _with_links_to((), root, "README.md", (root / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
