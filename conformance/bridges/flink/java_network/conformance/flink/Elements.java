package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Translates elements that Flink returned to elements of the port. */
final class Elements {

    private Elements() {}

    /** An element that a subpartition returned. The caller must recycle the buffer. */
    static ObjectNode decode(Buffer buffer) throws IOException {
        return buffer.isBuffer() ? data(buffer) : Events.decode(buffer);
    }

    /** An element that a gate returned. */
    static ObjectNode decode(BufferOrEvent polled) {
        return polled.isBuffer()
                ? data(polled.getBuffer())
                : Events.describe(polled.getEvent(), polled.hasPriority());
    }

    /** An element that a channel returned. The caller must recycle the buffer. */
    static ObjectNode taken(InputChannel.BufferAndAvailability taken) throws IOException {
        Buffer buffer = taken.buffer();
        ObjectNode answer = Json.object();
        answer.set(
                "element", buffer.isBuffer() ? data(buffer) : Events.describe(Events.event(buffer), taken.hasPriority()));
        return answer.put("seq", taken.getSequenceNumber())
                .put("next", next(ConsumerAccess.nextType(taken)))
                .put("backlog", taken.buffersInBacklog());
    }

    static String next(Buffer.DataType type) {
        if (type == Buffer.DataType.NONE) {
            return "none";
        }
        return type.isBuffer() ? "data" : type.hasPriority() ? "priority" : "event";
    }

    /**
     * Since 2.3.0 conversion also moves the event that ends recovered state into the physical channel. The channel and
     * the gate hand it out like any other event, and the reader ignores it. It is no element of the port.
     */
    static boolean endsRecoveredState(Buffer buffer) throws IOException {
        return !buffer.isBuffer() && endsRecoveredState(Events.event(buffer));
    }

    static boolean endsRecoveredState(AbstractEvent event) {
        return ConsumerAccess.isEndOfRecoveredState(event);
    }

    private static ObjectNode data(Buffer buffer) {
        ObjectNode data = Json.tagged("buffer");
        data.set("ids", Json.array(Segments.read(buffer)));
        return data;
    }
}
