package org.apache.flink.runtime.io.network.partition.consumer;

import java.util.function.Supplier;
import org.apache.flink.runtime.io.network.TaskEventPublisher;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.metrics.InputChannelMetrics;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;

/** Flink's channel, except that a request for a buffer never waits. */
public final class RoomyChannel extends LocalRecoveredInputChannel {

    private static final TaskEventPublisher NOBODY = (partition, event) -> true;

    private final Supplier<Buffer> buffers;

    public RoomyChannel(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ResultPartitionManager partitions,
            Supplier<Buffer> buffers) {
        super(
                gate,
                index,
                partition,
                new ResultSubpartitionIndexSet(index),
                partitions,
                NOBODY,
                0,
                0,
                0,
                new InputChannelMetrics(new UnregisteredMetricsGroup()));
        this.buffers = buffers;
    }

    @Override
    public Buffer requestBufferBlocking() {
        return buffers.get();
    }
}
