package org.apache.flink.runtime.io.network.partition.consumer;

import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.buffer.Buffer;

/** Flink's {@link ChannelStatePersister}, which is package-private. */
public final class PersisterAccess {

    private final ChannelStatePersister persister;

    public PersisterAccess(ChannelStateWriter writer) {
        persister = new ChannelStatePersister(writer, new InputChannelInfo(0, 0));
    }

    public void start(long checkpoint, List<Buffer> known) throws CheckpointException {
        persister.startPersisting(checkpoint, known);
    }

    public void stop(long checkpoint) {
        persister.stopPersisting(checkpoint);
    }

    public void maybePersist(Buffer buffer) {
        persister.maybePersist(buffer);
    }

    public OptionalLong checkForBarrier(Buffer buffer) throws IOException {
        return persister.checkForBarrier(buffer);
    }

    public boolean hasBarrierReceived() {
        return persister.hasBarrierReceived();
    }
}
