package conformance.flink;

import java.io.IOException;
import java.util.Optional;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@link RecoveredInputChannel}, which is converted to a remote channel with its exclusive buffers. */
final class RecoveredChannelSubject extends ChannelSubject {

    private final Network network = new Network(signals, segments, true, channel -> 0, faults);
    private final RecoveredInputChannel channel;

    RecoveredChannelSubject(JsonNode config) throws BadRequest, IOException {
        super(config);
        channel =
                ConsumerAccess.recoveredRemote(
                        gate, 0, SubpartitionAccess.id(0), network, exclusiveBuffers, writer);
        ConsumerAccess.whenStateIsConsumed(channel, () -> signals.stateConsumed(0));
    }

    @Override
    InputChannel channel() {
        return channel;
    }

    @Override
    Object callMore(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "push_recovered":
                channel.onRecoveredStateBuffer(segments.buffer(Json.ids(Json.field(arguments.node(0), "ids"))));
                return null;
            case "finish_recovered":
                channel.finishReadRecoveredState();
                return null;
            case "offer_buffer":
                return false; // no push waits for a buffer
            case "convert":
                return handedOver(ConsumerAccess.convert(channel));
            case "last_stopped":
                return Math.max(0, ConsumerAccess.lastStopped(channel));
            case "release":
                ConsumerAccess.release(channel);
                return null;
            default:
                throw new BadRequest("a recovered channel has no method \"" + method + "\"");
        }
    }

    @Override
    boolean fault(String place, String kind, long nth) throws Exception {
        if (!place.equals(FaultySegments.PLACE)) {
            return false; // a buffer for recovered data comes from the adapter
        }
        if (kind.equals("refuses")) {
            return false; // Flink's pool waits for buffers, and then fails for good
        }
        faults.arm(place, kind, nth);
        return true;
    }

    /** Reads the records that the physical channel took over, and releases it. */
    private ArrayNode handedOver(InputChannel physical) throws IOException, InterruptedException {
        ArrayNode ids = Json.array();
        ConsumerAccess.request(physical); // a remote channel is not read before
        Optional<InputChannel.BufferAndAvailability> taken;
        while ((taken = physical.getNextBuffer()).isPresent()) {
            Buffer buffer = taken.get().buffer();
            if (buffer.isBuffer()) {
                Segments.read(buffer).forEach(ids::add);
            }
            buffer.recycleBuffer();
        }
        ConsumerAccess.release(physical);
        return ids;
    }

    @Override
    ObjectNode resources() {
        boolean waiting = !ConsumerAccess.stateIsConsumed(channel) && !ConsumerAccess.isReleased(channel);
        return Json.object()
                .put("segments", segments.taken() + memory.taken())
                .put("listeners", 0)
                .put("futures", waiting ? 1 : 0);
    }
}
