"""Legal variants as other people name them, `module:object`: a legal one, one that is a bug, one that never differs."""

from __future__ import annotations

from conformance.ports import LegalVariant
from conformance.ports.changes import changed_implementation, original_implementation
from reference_impl import PUSHED


def _variant(name: str, change: str) -> LegalVariant:
    def make(package, name):
        return package.Reference(name, PUSHED)

    return LegalVariant(
        name, "recovered-channel", "FV1", "It does something in its own way.",
        changed_implementation("reference_impl", change, make, f"legal-variant:{name}"),
        original_implementation("reference_impl", make, "original"),
        change.strip("\n"),
    )  # fmt: skip


COUNTS_THE_END = _variant(
    "X-V1",
    """
--- network/recovered_channel.py
@@ def in_use
-        return sum([data is not END_OF_RECOVERED_STATE for data in self.queue])
+        return len(self.queue)
@@ def resources
-            segments=self.in_use() + self.offered,
+            segments=sum(data is not END_OF_RECOVERED_STATE for data in self.queue) + self.offered,
""",
)

TAKES_THE_LAST = _variant(
    "X-V2",
    """
--- network/recovered_channel.py
@@ async def take
-            head, seq = self.queue.pop(0), self.seq
+            head, seq = self.queue.pop(), self.seq
""",
)

DIFFERS_NOWHERE = _variant(
    "X-V3",
    """
--- network/recovered_channel.py
@@ def append
-        return len(self.queue) == 1
+        return 1 == len(self.queue)
""",
)
