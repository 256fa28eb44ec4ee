package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@link RecoveredInputChannel}, which is converted to a local channel. */
final class RecoveredChannelSubject extends ChannelSubject {

    private final RecoveredInputChannel channel;
    private boolean consumed;

    RecoveredChannelSubject(JsonNode config) throws BadRequest, IOException {
        super(config);
        channel =
                ConsumerAccess.recoveredLocal(
                        gate, 0, SubpartitionAccess.id(0), new ResultPartitionManager(), exclusiveBuffers, writer);
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
    ObjectNode take() throws IOException, InterruptedException {
        ObjectNode taken = super.take();
        if (!consumed && ConsumerAccess.stateIsConsumed(channel)) {
            consumed = true;
            signals.stateConsumed(0);
        }
        return taken;
    }

    /** Reads the records that the physical channel took over, and releases it. Its subpartition was not requested. */
    private ArrayNode handedOver(InputChannel physical) throws IOException, InterruptedException {
        ArrayNode ids = Json.array();
        for (int left = ConsumerAccess.buffersInUse(physical); left > 0; left--) {
            var taken = physical.getNextBuffer().orElseThrow();
            if (taken.buffer().isBuffer()) {
                Segments.read(taken.buffer()).forEach(ids::add);
            }
            taken.buffer().recycleBuffer();
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
