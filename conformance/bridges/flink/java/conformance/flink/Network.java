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
import org.apache.flink.runtime.io.network.partition.consumer.RemoteInputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The network of remote channels: it delivers elements to them and turns their messages to producers into signals. */
final class Network implements ConnectionManager, PartitionRequestClient {

    /** No backlog is known. For an element that blocks its producer, a backlog of 0 is sent instead. */
    static final int UNKNOWN_BACKLOG = -1;

    static final String PRODUCER = "producer";
    static final String CONNECTION = "connection";
    static final String REQUEST = FaultyPartitions.PLACE;

    private final Signals signals;
    private final Segments segments;
    private final boolean keepsToCredit;
    private final ToIntFunction<RemoteInputChannel> number;
    private final Faults faults;
    private boolean producerFailed;
    /** Whether the producer has answered the last request that the partition is not there yet. */
    private boolean isRefused;

    /**
     * @param keepsToCredit whether the producers send data only if they have credit
     * @param number gives the number that a channel has in the port
     * @param faults of the producer and of the connection to it
     */
    Network(
            Signals signals,
            Segments segments,
            boolean keepsToCredit,
            ToIntFunction<RemoteInputChannel> number,
            Faults faults) {
        this.signals = signals;
        this.segments = segments;
        this.keepsToCredit = keepsToCredit;
        this.number = number;
        this.faults = faults;
    }

    /**
     * An element arrives. As in {@code CreditBasedPartitionRequestClientHandler.decodeMsg}, an error is handed to the
     * channel, which keeps it for its next read; and the arrival fails with it. The error of a producer that has failed
     * arrives instead of the element, and the arrival succeeds.
     */
    void deliver(RemoteInputChannel channel, JsonNode element, int sequenceNumber, int backlog)
            throws BadRequest, IOException {
        producerFailed = faults.strike(PRODUCER) != null || producerFailed;
        if (producerFailed) {
            channel.onError(Faults.failure(PRODUCER));
            return;
        }
        deliver(
                channel,
                Events.isData(element) ? received(channel, element) : Events.encodeBuffer(element),
                sequenceNumber,
                backlog);
    }

    /** The same with a buffer that was read from the network. */
    void deliver(RemoteInputChannel channel, Buffer buffer, int sequenceNumber, int backlog) throws IOException {
        try {
            boolean unsaid = backlog == UNKNOWN_BACKLOG && buffer.getDataType().isBlockingUpstream();
            channel.onBuffer(buffer, sequenceNumber, unsaid ? 0 : backlog, 0);
        } catch (IOException | RuntimeException error) {
            channel.onError(error);
            throw error;
        }
    }

    /**
     * Data is copied into a buffer of the channel, as {@code NetworkBufferAllocator.allocatePooledNetworkBuffer} does.
     * Into a released channel comes what was copied before its release, and producers that do not keep to their credit
     * get memory of this adapter. For all others a missing buffer is an error, as in {@code decodeBufferOrEvent}.
     */
    private Buffer received(RemoteInputChannel channel, JsonNode element) throws BadRequest {
        Buffer buffer = channel.requestBuffer();
        int[] ids = Json.ids(Json.field(element, "ids"));
        if (buffer == null && keepsToCredit && !channel.isReleased()) {
            throw new IllegalStateException("there is no buffer for what came with credit");
        }
        return buffer == null ? segments.buffer(ids) : Segments.fill(buffer, ids);
    }

    @Override
    public PartitionRequestClient createPartitionRequestClient(ConnectionID connection) {
        return this;
    }

    @Override
    public void notifyCreditAvailable(RemoteInputChannel channel) {
        // NettyPartitionRequestClient.AddCreditMessage and CreditBasedPartitionRequestClientHandler do the same a little
        // later, in the network thread.
        faults.throwUnchecked(CONNECTION);
        int credit = channel.getAndResetUnannouncedCredit();
        if (credit > 0 && !channel.isReleased()) {
            signals.add(
                    Json.tagged("credit-announced").put("credit", credit).put("channel", number.applyAsInt(channel)));
        }
    }

    @Override
    public void resumeConsumption(RemoteInputChannel channel) {
        faults.throwUnchecked(CONNECTION);
        signals.add(Json.tagged("consumption-resumed").put("channel", number.applyAsInt(channel)));
    }

    @Override
    public void requestSubpartition(
            ResultPartitionID partition, ResultSubpartitionIndexSet indices, RemoteInputChannel channel, int delay)
            throws IOException {
        String kind = faults.strike(REQUEST);
        isRefused = "refuses".equals(kind);
        if (kind != null && !isRefused) {
            throw Faults.failure(REQUEST);
        }
    }

    /** Delivers the answer of a producer whose partition is not there yet; the channel then asks for its state. */
    void answer(RemoteInputChannel channel) {
        if (isRefused) {
            isRefused = false;
            channel.onFailedPartitionRequest();
        }
    }

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
