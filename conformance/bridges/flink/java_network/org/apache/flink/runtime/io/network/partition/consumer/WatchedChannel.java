package org.apache.flink.runtime.io.network.partition.consumer;

import java.io.IOException;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.metrics.InputChannelMetrics;
import org.apache.flink.runtime.io.network.partition.Differences;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;

/** Flink's channel, except that its calls can fail, and that buffers may come from elsewhere. */
public final class WatchedChannel extends LocalRecoveredInputChannel {

    /** Is told of the calls of a channel. */
    public interface Calls {
        /** A buffer is asked for. Returns the one that is given out; null: Flink's own, if Flink has one. */
        Buffer requested() throws IOException;

        /** The channel has taken over a buffer with state, or a descriptor. */
        void pushed();
    }

    private final Calls calls;

    public WatchedChannel(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ResultPartitionManager partitions,
            int exclusiveBuffers,
            Calls calls) {
        super(
                gate,
                index,
                partition,
                new ResultSubpartitionIndexSet(index),
                partitions,
                ConsumerAccess.NOBODY,
                0,
                0,
                exclusiveBuffers,
                new InputChannelMetrics(new UnregisteredMetricsGroup()));
        this.calls = calls;
    }

    @Override
    public Buffer requestBufferBlocking() throws IOException, InterruptedException {
        Buffer buffer = calls.requested();
        return buffer == null ? super.requestBufferBlocking() : buffer;
    }

    @Override
    public void onRecoveredStateBuffer(Buffer buffer) {
        boolean isState = !endsState(buffer);
        super.onRecoveredStateBuffer(buffer);
        if (isState) {
            calls.pushed();
        }
    }

    private static boolean endsState(Buffer buffer) {
        try {
            return !buffer.isBuffer()
                    && Differences.endsInputState(
                            EventSerializer.fromBuffer(
                                    buffer.readOnlySlice(), WatchedChannel.class.getClassLoader()));
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }
}
