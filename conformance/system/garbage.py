"""The garbage collector of a process that the suite has started."""

from __future__ import annotations

import gc


def spare_what_is_loaded() -> None:
    """Let the garbage collector look no more at what is there now: modules, rules and tables, which live as long as the
    process. A search makes so much that is over soon that it would look at all of it again and again.

    It holds for the whole process, so call it only where one of our own begins, and never on import.
    """
    gc.freeze()


def spare_once() -> None:
    """As `spare_what_is_loaded`, for a process that somebody else has started and uses again: the first call counts.

    To be called when everything is loaded, which is at the end of the first work. A worker of Spark collects garbage
    after each task.
    """
    if not gc.get_freeze_count():
        gc.collect()
        spare_what_is_loaded()
