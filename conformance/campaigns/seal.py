"""The checksum in a wave, an outcome or a result, which shows that the file is as the campaign wrote it."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from conformance.scenarios import canonical

if TYPE_CHECKING:
    from conformance.campaigns.kept_outcomes import Wanted
    from conformance.campaigns.kept_works import Done
    from conformance.campaigns.outcomes import FindingRecord, ImplementationRecord
    from conformance.campaigns.result import CampaignResult
    from conformance.campaigns.waves import Wave

_CHECKSUM = re.compile(rb'"checksum":"([0-9a-f]*)"')
"""Inside a string of JSON, quotation marks are escaped; so this is found only where it is a field. The keys are sorted,
so the first one is that of the file."""
Sealed: TypeAlias = "CampaignResult | Done | FindingRecord | ImplementationRecord | Wanted | Wave"


def sealed(result: Sealed) -> bytes:
    """Return the file of a wave, an outcome or a result: canonical JSON.

    Its checksum is that of the same JSON with an empty checksum.
    """
    text = canonical(replace(result, checksum="")).encode()
    return text.replace(b'"checksum":""', b'"checksum":"%s"' % _hash(text), 1) + b"\n"


def is_sealed(data: bytes) -> bool:
    """Return whether these are the bytes that `sealed` returned."""
    found = _CHECKSUM.search(data)
    if found is None or not data.endswith(b"\n"):
        return False
    return _hash(data[: found.start(1)] + data[found.end(1) : -1]) == found[1]


def _hash(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
