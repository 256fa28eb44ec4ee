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

/** The network of remote channels: what they tell their producers is noted, and what arrives is given to them. */
final class Network implements ConnectionManager, PartitionRequestClient {

    /** Nothing is said of what waits behind an element. A producer that is blocked by it has nothing, and says so. */
    static final int UNKNOWN_BACKLOG = -1;

    private final Signals signals;
    private final Segments segments;
    private final ToIntFunction<RemoteInputChannel> number;

    /** {@code number} tells how the port numbers a channel. */
    Network(Signals signals, Segments segments, ToIntFunction<RemoteInputChannel> number) {
        this.signals = signals;
        this.segments = segments;
        this.number = number;
    }

    /**
     * An element arrives. Data comes in a buffer of the channel, which the producer's credit stands for; if it sends
     * without, as a gate that does not count credit lets it, in one of ours.
     */
    void deliver(RemoteInputChannel channel, JsonNode element, int sequenceNumber, int backlog)
            throws BadRequest, IOException {
        Buffer buffer;
        if (!Events.isData(element)) {
            buffer = Events.encodeBuffer(element);
        } else if (channel.isReleased()) {
            return; // as Flink's decoder does: there is nobody to ask for a buffer
        } else {
            buffer = channel.requestBuffer();
            int[] ids = Json.ids(Json.field(element, "ids"));
            buffer = buffer == null ? segments.buffer(ids) : Segments.fill(buffer, ids);
        }
        boolean unsaid = backlog == UNKNOWN_BACKLOG && buffer.getDataType().isBlockingUpstream();
        channel.onBuffer(buffer, sequenceNumber, unsaid ? 0 : backlog, 0);
        if (!channel.isReleased()) {
            ConsumerAccess.checkError(channel); // an error is kept for whoever reads next: the task fails
        }
    }

    @Override
    public PartitionRequestClient createPartitionRequestClient(ConnectionID connection) {
        return this;
    }

    @Override
    public void notifyCreditAvailable(RemoteInputChannel channel) {
        // What Flink's client does a little later, in the thread of the network.
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
