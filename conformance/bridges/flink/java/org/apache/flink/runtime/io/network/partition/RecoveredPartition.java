package org.apache.flink.runtime.io.network.partition;

import conformance.flink.Partial;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;

/** The result partition of a task, which only reports the recovered output state that it is given. */
public final class RecoveredPartition {

    private interface Both extends ResultPartitionWriter, CheckpointedResultPartition {}

    private RecoveredPartition() {}

    /**
     * {@code takes}: gives a buffer for recovered state. {@code added}: gets each buffer, and must close it. {@code
     * finished}: is called when there are no more.
     */
    public static ResultPartitionWriter of(
            Supplier<BufferBuilder> takes, Consumer<BufferConsumer> added, Runnable finished) {
        return Partial.of(
                Both.class,
                Map.ofEntries(
                        Map.entry("getNumberOfSubpartitions", nothing -> 1),
                        Map.entry("getCheckpointedSubpartitionInfo", nothing -> new ResultSubpartitionInfo(0, 0)),
                        Map.entry("requestBufferBuilderBlocking", nothing -> takes.get()),
                        Map.entry(
                                "addRecovered",
                                called -> {
                                    added.accept((BufferConsumer) called[1]);
                                    return null;
                                }),
                        Map.entry(
                                "finishReadRecoveredState",
                                nothing -> {
                                    finished.run();
                                    return null;
                                }),
                        Map.entry("getAllDataProcessedFuture", nothing -> CompletableFuture.completedFuture(null))));
    }
}
