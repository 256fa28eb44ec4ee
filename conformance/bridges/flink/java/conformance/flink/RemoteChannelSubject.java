package conformance.flink;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RemoteInputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@link RemoteInputChannel} with its buffers. Its messages to the producer become signals. */
final class RemoteChannelSubject extends ChannelSubject {

    private final Network network = new Network(signals, segments, true, channel -> 0, faults);
    private final RemoteInputChannel channel;
    /** Data buffers that the consumer took and has not recycled. */
    private final ArrayDeque<Buffer> held = new ArrayDeque<>();

    RemoteChannelSubject(JsonNode config) throws BadRequest, IOException {
        super(config);
        ResultPartitionID id = SubpartitionAccess.id(0);
        channel =
                Recovery.isInMemory(config)
                        ? (RemoteInputChannel)
                                converted(
                                        ConsumerAccess.recoveredRemote(
                                                gate, 0, id, network, exclusiveBuffers, writer),
                                        Json.field(config, "handed_over"))
                        : ConsumerAccess.remote(gate, 0, id, network, exclusiveBuffers, writer);
    }

    @Override
    InputChannel channel() {
        return channel;
    }

    @Override
    Object callMore(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "request":
                ConsumerAccess.requestOrAgain(gate, channel);
                network.answer(channel);
                return null;
            case "receive":
                network.deliver(channel, arguments.node(0), (int) arguments.number(1), (int) arguments.number(2));
                return null;
            case "convert_to_priority":
                channel.convertToPriorityEvent((int) arguments.number(0));
                return null;
            case "recycle":
                recycle(arguments.number(0));
                return null;
            case "resume":
                channel.resumeConsumption();
                return null;
            case "free_for_live":
                return channel.getNumberOfAvailableBuffers();
            case "insert_recovery_barrier":
            case "in_recovery":
                return false; // no release pushes recovered buffers
            case "release":
                ConsumerAccess.release(channel);
                return null;
            default:
                throw new BadRequest("this remote channel has no method \"" + method + "\"");
        }
    }

    /** Recycles the buffers that were taken first, each by itself, and fails with the first error. */
    private void recycle(long count) {
        RuntimeException first = null;
        for (long left = count; left > 0; left--) {
            try {
                held.remove().recycleBuffer();
            } catch (RuntimeException error) {
                first = first == null ? error : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }

    @Override
    ObjectNode answer(InputChannel.BufferAndAvailability taken) throws IOException {
        if (!taken.buffer().isBuffer()) {
            return super.answer(taken);
        }
        held.add(taken.buffer());
        return Elements.taken(taken);
    }

    @Override
    boolean fault(String place, String kind, long nth) throws Exception {
        boolean isOfTheNetwork = List.of(Network.PRODUCER, Network.CONNECTION, Network.REQUEST).contains(place);
        if (!isOfTheNetwork) {
            return super.fault(place, kind, nth);
        }
        faults.arm(place, kind, nth);
        return true;
    }

    @Override
    ObjectNode resources() {
        return Json.object().put("segments", segments.taken() + memory.taken()).put("listeners", 0);
    }
}
