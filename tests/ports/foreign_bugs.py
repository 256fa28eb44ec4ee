"""Known bugs as other people name them, `module:object`: one made of a class, one that is a change of text."""

from __future__ import annotations

from conformance.ports import KnownBug, change_of_text
from tests.implementations import With

AS_A_CLASS = KnownBug("X-1", "own", "subpartition", "sequence-numbers-have-no-gaps", "Nothing is wrong.", With)

AS_A_CHANGE = change_of_text(
    "X-2", "own", "deque", "a-poll-takes-the-head", "The tail is polled.",
    package="reference_impl",
    make=lambda copy, name: copy.Reference(name, copy.PUSHED),
    change="""
--- network/prioritized_deque.py
@@ def poll
-        return self.elements.pop(0)
+        return self.elements.pop()
""",
)  # fmt: skip
