"""The fetch: it reads channel state chunk by chunk, filters it, and hands it on. Specification: filter.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from conformance.ports import ErrorKind, FilterConfig, PortError, Virtual

from .buffers import BeforeFilter, NetworkBuffer, OutputBuffers
from .channel_state import ChannelState
from .outputs import Output
from .virtual_channel import Descriptor, VirtualChannel, VirtualChannels

Outputs: TypeAlias = Callable[[int, int], Output]
"""Returns the output to a channel of a gate."""


class Fetch:
    """Reads the chunks of a task (Flink: `InputChannelRecoveredStateHandler`).

    A buffer has one owner, which gives it back once: before the virtual channel is found, the fetch; then the virtual
    channel or the output.
    """

    def __init__(self, config: FilterConfig, state: ChannelState, outputs: Outputs) -> None:
        self.config = config
        self.state = state
        self.outputs = outputs
        self.targets = [
            {old: channel for channel, olds in enumerate(gate.mapping.channels) for old in olds}
            for gate in config.gates
        ]
        """Targets: by gate, the channel that continues an old channel."""
        self.failed = False

    async def read(self, virtual: int, length: int) -> None:
        """X5, X26. Read the next chunk of a virtual channel, and hand on what is complete. An error ends the fetch.

        Raises: PortError.
        """
        self.check()
        try:
            await self.read_chunk(virtual, length)
        except PortError:
            self.failed = True
            raise

    def check(self) -> None:
        """X19. Raises: PortError STATE if nothing can be read now. The fetch goes on."""

    async def read_chunk(self, virtual: int, length: int) -> None:
        """X5. Raises: PortError IO, STATE, RELEASED."""
        raise NotImplementedError

    def end(self) -> None:
        """X9. Everything was read. Raises: PortError IO if a virtual channel ends inside an element."""

    def fill(self, buffer: NetworkBuffer, virtual: int, length: int) -> int:
        """X3, X5, X25. Read a chunk. Returns the channel into which it goes.

        Raises: PortError IO; STATE if the gate has no data, or continues no such channel. The buffer is given back.
        """
        of = self.config.state[virtual]
        try:
            buffer.page[:length] = self.state.read(virtual, length)
            buffer.size = length
            return self.target(of)
        except PortError:
            buffer.recycle()
            raise

    def target(self, of: Virtual) -> int:
        """X3. Returns the one channel that continues an old channel (Flink: `getMappedChannels`).

        Raises: PortError STATE.
        """
        if not self.config.gates[of.gate].mapping.old_subtasks:
            raise PortError(ErrorKind.STATE, f"gate {of.gate} has no data")
        if of.old_channel not in self.targets[of.gate]:
            raise PortError(ErrorKind.STATE, f"no channel of gate {of.gate} continues old channel {of.old_channel}")
        return self.targets[of.gate][of.old_channel]


class PassingFetch(Fetch):
    """Reads into buffers of the pool, and hands them on as they are: nothing is filtered, or only later."""

    def __init__(self, config: FilterConfig, state: ChannelState, outputs: Outputs, pool: OutputBuffers) -> None:
        super().__init__(config, state, outputs)
        self.pool = pool

    async def read_chunk(self, virtual: int, length: int) -> None:
        """X10, X11, X23 (Flink: `getBuffer`, `recover`)."""
        of = self.config.state[virtual]
        buffer = await self.pool.request()
        channel = self.fill(buffer, virtual, length)
        await self.outputs(of.gate, channel).hand_on(buffer, Descriptor(of.old_subtask, of.old_channel))


class FilteringFetch(Fetch):
    """Reads into the segment before the filter, and hands on what is kept (Flink: `ChannelStateFilteringHandler`)."""

    def __init__(
        self,
        config: FilterConfig,
        state: ChannelState,
        outputs: Outputs,
        before: BeforeFilter,
        virtual: list[list[VirtualChannels]],
    ) -> None:
        """`virtual`: by gate and channel."""
        super().__init__(config, state, outputs)
        self.before = before
        self.virtual = virtual

    def check(self) -> None:
        """X19. The segment before the filter is free."""
        self.before.check()

    async def read_chunk(self, virtual: int, length: int) -> None:
        """X5 to X8, X18 (Flink: `getBuffer`, `filterAndRewrite`)."""
        of = self.config.state[virtual]
        buffer = self.before.request()
        channel = self.fill(buffer, virtual, length)
        found = self.found(of, channel, buffer)
        found.set_next_buffer(buffer)
        output = self.outputs(of.gate, channel)
        try:
            while (element := found.next()) is not None:
                await output.append(element)
            await output.finish()
        except BaseException:  # both have taken buffers over, whatever happens
            output.recycle()
            found.recycle()
            raise

    def found(self, of: Virtual, channel: int, buffer: NetworkBuffer) -> VirtualChannel:
        """X3, X25. Returns the virtual channel. Raises: PortError STATE if there is none; the buffer is given back."""
        found = self.virtual[of.gate][channel].get(Descriptor(of.old_subtask, of.old_channel))
        if found is None:
            buffer.recycle()
            raise PortError(ErrorKind.STATE, f"gate {of.gate} recovers nothing of old subtask {of.old_subtask}")
        return found

    def end(self) -> None:
        """X9. The state is damaged if an element has not ended."""
        for gate in self.virtual:
            for channel in gate:
                check_ended(channel)


def check_ended(virtual: VirtualChannels) -> None:
    """X9. Raises: PortError IO if one of the virtual channels ends inside an element."""
    for name, one in virtual.items():
        if one.deserializer.is_inside():
            where = f"channel {name.old_channel} of old subtask {name.old_subtask}"
            raise PortError(ErrorKind.IO, f"{where} ends inside an element")
