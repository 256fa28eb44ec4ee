"""When the producers may go on after recovered output state. recovery.md, section 2.3."""

from __future__ import annotations

from conformance.ports import ErrorKind, PortError


class UpstreamRecoveryTracker:
    """Which channels have not sent the end of their recovered output state yet.

    All producers stay blocked until the last one has: live data of one must not overtake recovered data of another.
    """

    def __init__(self, channels: int) -> None:
        self.unrestored = list(range(channels))

    def end_of_output_state(self, channel: int) -> bool:
        """Note the end of one channel. Answers whether it was the last.

        Raises: PortError STATE if the channel had ended before.
        """
        if channel not in self.unrestored:
            raise PortError(ErrorKind.STATE, f"channel {channel} has sent the end of its output state before")
        self.unrestored.remove(channel)
        return not self.unrestored
