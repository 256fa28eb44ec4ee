"""Makes a release: builds what is published, checks it, and says what to do next. It uploads nothing and tags nothing.

`make release` runs it. What is built is in `dist`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from conformance import __version__

ROOT = Path(__file__).resolve().parents[1]
_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[^\S\n]*$", re.MULTILINE)
SMOKE = (
    ("conformance", "--version"),
    ("conformance", "check", "--component", "deque", "--scenarios", "100"),
    ("conformance", "docs", "tutorial"),
)
"""What the installed wheel must do, without extras."""


def complaints(version: str, changelog: str, changed: Collection[str], tags: Collection[str]) -> list[str]:
    """Return what speaks against the release of a version, and what to do about it.

    `changed` are the files that differ from the last commit, or are unknown to git, and `tags` the tags that exist.
    """
    found = []
    if changed:
        found.append(f"The tree is not clean: {', '.join(sorted(changed))}. Commit or remove these files.")
    if f"v{version}" in tags:
        found.append(f"The tag v{version} exists. Raise __version__ in conformance/__init__.py.")
    heading = _HEADING.search(changelog)
    if heading is None:
        found.append("CHANGELOG.md has no section such as: ## [1.2.3] - 2026-01-31")
    elif heading[1] != version or heading[2] is None:
        said = heading[0].strip()
        found.append(f"CHANGELOG.md begins with {said!r}, not with '## [{version}] - YYYY-MM-DD'. Name its section so.")
    return found


def main() -> int:
    """Check, build, and check what was built. Returns the exit status."""
    changed = [line[3:] for line in _git("status", "--porcelain").splitlines()]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if found := complaints(__version__, changelog, changed, _git("tag", "--list").split()):
        print("\n".join((f"{__version__} cannot be released:", *(f"  {one}" for one in found))))
        return 1
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    _run(sys.executable, "-m", "build", "--outdir", "dist", ".")  # the wheel is built from the source distribution
    built = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "dist").iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *built)
    (wheel,) = (name for name in built if name.endswith(".whl"))
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        _run(sys.executable, "-m", "venv", f"{folder}/venv")
        _run(f"{folder}/venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT / wheel))
        for program, *arguments in SMOKE:
            _run(f"{folder}/venv/bin/{program}", *arguments, cwd=Path(folder), quiet=True)
    print("\n".join((
        "", "Built and checked:", *(f"  {name}" for name in built), "", "Nothing was uploaded. Next:",
        f"  git tag --annotate v{__version__} --message 'Version {__version__}' && git push origin v{__version__}",
        f"  {sys.executable} -m twine upload {' '.join(built)}",
    )))  # fmt: skip
    return 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _run(*command: str, cwd: Path = ROOT, quiet: bool = False) -> None:
    """Run a command and stop here if it fails. What it prints is shown, or with `quiet` only if it fails."""
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=quiet, text=True)
    if done.returncode:
        print((done.stdout or "") + (done.stderr or ""), end="")
        sys.exit(f"Exit status {done.returncode}: not released.")


if __name__ == "__main__":
    sys.exit(main())
