package org.apache.flink.runtime.checkpoint.channel;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter.ChannelStateWriteResult;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;

/** Calls code of Flink that only its own package may call. */
public final class WriteResults {

    private WriteResults() {}

    public static ChannelStateWriteResult of(
            CompletableFuture<Collection<InputChannelStateHandle>> inputs,
            CompletableFuture<Collection<ResultSubpartitionStateHandle>> outputs) {
        return new ChannelStateWriteResult(inputs, outputs);
    }
}
