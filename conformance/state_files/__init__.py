"""Channel state files: their bytes, the list of what is in them, and the audit of a file.

The format is described in docs/channel-state-files.md. This package imports no other part of the suite.
"""

from conformance.state_files.audit import (
    Damaged,
    Homes,
    OtherState,
    StateAudit,
    StoredState,
    Unread,
    audit_file,
    write_list,
)
from conformance.state_files.layout import (
    HEADER,
    VERSION,
    Damage,
    Handle,
    Place,
    Segment,
    StateList,
    decode_records,
    encode_header,
    encode_record,
    encode_segment,
    gaps,
    read_header,
    read_segment,
    read_state,
)

__all__ = [
    "HEADER",
    "VERSION",
    "Damage",
    "Damaged",
    "Handle",
    "Homes",
    "OtherState",
    "Place",
    "Segment",
    "StateAudit",
    "StateList",
    "StoredState",
    "Unread",
    "audit_file",
    "decode_records",
    "encode_header",
    "encode_record",
    "encode_segment",
    "gaps",
    "read_header",
    "read_segment",
    "read_state",
    "write_list",
]
