"""The garbage collector of a process that the suite has started."""

from __future__ import annotations

import gc


def spare_what_is_loaded() -> None:
    """Let the garbage collector look no more at what is there now: modules, rules and tables, which live as long as the
    process. A search makes so much that is over soon that it would look at all of it again and again.

    It holds for the whole process, so call it only where one of our own begins, and never on import.
    """
    gc.freeze()
