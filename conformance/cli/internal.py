"""An error of the suite itself: it says nothing about an implementation, so it has a status of its own and a file."""

from __future__ import annotations

import platform
import shlex
import tempfile
import traceback
from collections.abc import Sequence

from conformance import __version__


def told(error: BaseException, arguments: Sequence[str]) -> str:
    """Write the traceback of an unexpected error into a file, and return one message for the user.

    The file is in the folder for temporary files, since the current folder may be a repository. If it cannot be written
    there, the message contains the traceback.
    """
    try:
        trace = "".join(traceback.format_exception(error))
        words = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    except Exception:  # the error itself has an error
        trace = words = type(error).__name__
    about = (
        f"checkpoint-conformance {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{shlex.join(['conformance', *arguments])}\n\n"
    )
    said = f"this is an error of the suite itself, and says nothing about the implementation: {words[:300]}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", prefix="conformance-error-", suffix=".txt", delete=False
        ) as file:
            file.write(about + trace)
    except OSError:
        return f"{said}\n{trace}"
    return f"{said}\nThe traceback is in {file.name}: please send this file with your report."
