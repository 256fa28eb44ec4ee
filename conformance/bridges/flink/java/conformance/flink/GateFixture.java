package conformance.flink;

import java.io.IOException;
import java.util.List;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RemoteInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** One real gate with its channels, and the subpartitions or the network at the other ends of the channels. */
final class GateFixture {

    final SingleInputGate gate;

    private final Segments segments = new Segments();
    private final RecordingStateWriter writer = new RecordingStateWriter();
    private final Memory memory;
    private final Network network;
    private final PipelinedResultPartition partition;
    private final Producer[] producers; // null for remote channels
    private final RecoveredInputChannel[] recovered; // null if nothing is recovered
    private final int[] nextSequenceNumbers;

    /**
     * @param first the number of the first channel in the port
     * @param faults of whatever the channels call, except for the channel state writer
     */
    GateFixture(int index, int first, Signals signals, Faults faults, JsonNode config)
            throws BadRequest, IOException {
        this(index, first, signals, faults, config, new ConsumerAccess.Watcher() {}, false);
    }

    /**
     * A gate with a watcher. {@code belongsToTask}: a task gives it its channel state writer, and prepares and follows its
     * recovery.
     */
    GateFixture(
            int index,
            int first,
            Signals signals,
            Faults faults,
            JsonNode config,
            ConsumerAccess.Watcher watcher,
            boolean belongsToTask)
            throws BadRequest, IOException {
        JsonNode kinds = Json.field(config, "channels");
        int count = kinds.size();
        int exclusiveBuffers = (int) Json.number(Json.field(config, "exclusive_buffers"));
        int floatingBuffers = (int) Json.number(Json.field(config, "floating_buffers"));
        memory = new Memory(count, exclusiveBuffers, floatingBuffers);
        network = new Network(signals, segments, false, channel -> first + channel.getChannelIndex(), faults);
        ResultPartitionManager partitions = new FaultyPartitions(faults);
        ResultPartitionID id = SubpartitionAccess.id(index);
        partition = SubpartitionAccess.partition(id, count, exclusiveBuffers, partitions, writer);
        partitions.registerResultPartition(partition);
        gate = ConsumerAccess.gate(index, count, memory.floating(), new FaultySegments(memory.all(), faults), watcher);
        if (!belongsToTask) {
            Recovery.prepare(gate, config);
        }
        producers = new Producer[count];
        recovered = new RecoveredInputChannel[count];
        nextSequenceNumbers = new int[count];
        InputChannel[] channels = new InputChannel[count];
        for (int number = 0; number < count; number++) {
            boolean isLocal = Json.text(kinds.get(number)).equals("local");
            if (isLocal) {
                producers[number] = new Producer(SubpartitionAccess.subpartition(partition, number), segments);
            }
            if (!Recovery.isNone(config)) {
                recovered[number] =
                        isLocal
                                ? ConsumerAccess.recoveredLocal(
                                        gate,
                                        number,
                                        id,
                                        partitions,
                                        exclusiveBuffers,
                                        belongsToTask ? null : writer)
                                : ConsumerAccess.recoveredRemote(
                                        gate, number, id, network, exclusiveBuffers, writer);
                if (!belongsToTask) {
                    int told = first + number;
                    ConsumerAccess.whenStateIsConsumed(recovered[number], () -> signals.stateConsumed(told));
                }
                channels[number] = recovered[number];
            } else if (isLocal) {
                channels[number] = ConsumerAccess.local(gate, number, id, partitions, writer);
            } else {
                channels[number] = ConsumerAccess.remote(gate, number, id, network, exclusiveBuffers, writer);
            }
        }
        gate.setInputChannels(channels);
    }

    /** The configuration of one of the gates of the port. */
    static JsonNode alone(JsonNode config, int gate) throws BadRequest {
        ObjectNode alone = config.deepCopy();
        alone.set("channels", Json.field(config, "gates").get(gate));
        return alone;
    }

    int channels() {
        return producers.length;
    }

    void recover(int channel, JsonNode data) throws BadRequest {
        recovered(channel).onRecoveredStateBuffer(segments.buffer(Json.ids(Json.field(data, "ids"))));
    }

    void finishRecovery(int channel) throws BadRequest, IOException {
        recovered(channel).finishReadRecoveredState();
    }

    /** The first half of what a task does in one mail ({@code SingleInputGate.requestPartitions}). */
    void convert() {
        gate.convertRecoveredInputChannels();
    }

    /** The whole mail: converts what is left to convert, and requests. */
    void requestPartitions() {
        gate.requestPartitions();
    }

    void arrive(int channel, JsonNode element, int backlog) throws BadRequest, IOException {
        if (producers[channel] != null) {
            producers[channel].send(element);
            return;
        }
        RemoteInputChannel remote = (RemoteInputChannel) gate.getChannel(channel);
        network.deliver(remote, element, nextSequenceNumbers[channel], backlog);
        nextSequenceNumbers[channel]++;
    }

    /** An event arrives in a remote channel. */
    void arrive(int channel, AbstractEvent event) throws IOException {
        RemoteInputChannel remote = (RemoteInputChannel) gate.getChannel(channel);
        network.deliver(remote, Events.encodeBuffer(event), nextSequenceNumbers[channel], Network.UNKNOWN_BACKLOG);
        nextSequenceNumbers[channel]++;
    }

    /** Lets the next call of the channel state writer throw, and reports it when it does. */
    void failNextInput(Runnable struck) {
        writer.failNextInput(struck);
    }

    int buffersInUse(int channel) {
        return ConsumerAccess.buffersInUse(gate.getChannel(channel));
    }

    List<Integer> persisted(long checkpoint, int channel) {
        return writer.persistedInput(checkpoint, new InputChannelInfo(gate.getGateIndex(), channel));
    }

    ArrayNode persisted(long checkpoint) {
        ArrayNode all = Json.array();
        for (int channel = 0; channel < channels(); channel++) {
            all.add(Json.array(persisted(checkpoint, channel)));
        }
        return all;
    }

    void release() throws IOException {
        gate.close();
        for (int channel = 0; channel < channels(); channel++) {
            SubpartitionAccess.subpartition(partition, channel).release();
        }
    }

    int segments() {
        return segments.taken() + memory.taken();
    }

    int listeners() {
        int count = 0;
        for (int channel = 0; channel < channels(); channel++) {
            count += ConsumerAccess.listens(gate.getChannel(channel)) ? 1 : 0;
        }
        return count;
    }

    int futures() {
        return writer.openFutures();
    }

    private RecoveredInputChannel recovered(int channel) throws BadRequest {
        if (recovered[channel] == null) {
            throw new BadRequest("channel " + channel + " does not recover");
        }
        return recovered[channel];
    }
}
