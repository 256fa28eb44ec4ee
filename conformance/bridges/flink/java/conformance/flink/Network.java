package conformance.flink;

import java.io.IOException;
import java.util.function.ToIntFunction;
import org.apache.flink.runtime.event.TaskEvent;
import org.apache.flink.runtime.io.network.ConnectionID;
import org.apache.flink.runtime.io.network.ConnectionManager;
import org.apache.flink.runtime.io.network.PartitionRequestClient;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.RemoteInputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The network of remote channels: it delivers elements to them and turns their messages to producers into signals. */
final class Network implements ConnectionManager, PartitionRequestClient {

    /** No backlog is known. For an element that blocks its producer, a backlog of 0 is sent instead. */
    static final int UNKNOWN_BACKLOG = -1;

    private final Signals signals;
    private final Segments segments;
    private final ToIntFunction<RemoteInputChannel> number;

    /** {@code number} gives the number that a channel has in the port. */
    Network(Signals signals, Segments segments, ToIntFunction<RemoteInputChannel> number) {
        this.signals = signals;
        this.segments = segments;
        this.number = number;
    }

    /**
     * An element arrives. Data is copied into a buffer of the channel. If the channel has none, because a scenario of a
     * gate sends data without credit, it is copied into a buffer of this adapter.
     */
    void deliver(RemoteInputChannel channel, JsonNode element, int sequenceNumber, int backlog)
            throws BadRequest, IOException {
        Buffer buffer;
        if (!Events.isData(element)) {
            buffer = Events.encodeBuffer(element);
        } else if (channel.isReleased()) {
            return; // as Flink's decoder does, which cannot request a buffer of a released channel
        } else {
            buffer = channel.requestBuffer();
            int[] ids = Json.ids(Json.field(element, "ids"));
            buffer = buffer == null ? segments.buffer(ids) : Segments.fill(buffer, ids);
        }
        boolean unsaid = backlog == UNKNOWN_BACKLOG && buffer.getDataType().isBlockingUpstream();
        channel.onBuffer(buffer, sequenceNumber, unsaid ? 0 : backlog, 0);
        if (!channel.isReleased()) {
            ConsumerAccess.checkError(channel); // the channel keeps an error until its next read
        }
    }

    @Override
    public PartitionRequestClient createPartitionRequestClient(ConnectionID connection) {
        return this;
    }

    @Override
    public void notifyCreditAvailable(RemoteInputChannel channel) {
        // Flink's client does the same a little later, in the network thread.
        int credit = channel.getAndResetUnannouncedCredit();
        if (credit > 0 && !channel.isReleased()) {
            signals.add(
                    Json.tagged("credit-announced").put("credit", credit).put("channel", number.applyAsInt(channel)));
        }
    }

    @Override
    public void resumeConsumption(RemoteInputChannel channel) {
        signals.add(Json.tagged("consumption-resumed").put("channel", number.applyAsInt(channel)));
    }

    @Override
    public void requestSubpartition(
            ResultPartitionID partition, ResultSubpartitionIndexSet indices, RemoteInputChannel channel, int delay) {}

    @Override
    public void notifyNewBufferSize(RemoteInputChannel channel, int size) {}

    @Override
    public void notifyRequiredSegmentId(RemoteInputChannel channel, int subpartition, int segment) {}

    @Override
    public void acknowledgeAllRecordsProcessed(RemoteInputChannel channel) {}

    @Override
    public void sendTaskEvent(ResultPartitionID partition, TaskEvent event, RemoteInputChannel channel) {}

    @Override
    public void close(RemoteInputChannel channel) {}

    @Override
    public int start() {
        return -1;
    }

    @Override
    public void closeOpenChannelConnections(ConnectionID connection) {}

    @Override
    public int getNumberOfActiveConnections() {
        return 0;
    }

    @Override
    public void shutdown() {}
}
