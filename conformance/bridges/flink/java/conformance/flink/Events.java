package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.EndOfPartitionEvent;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.consumer.EndOfOutputChannelStateEvent;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Every element that is not data: from JSON to the buffer of a Flink event, and back. */
final class Events {

    private static final String ALIGNED = "aligned";
    private static final String TIMEOUTABLE = "timeoutable";
    private static final String UNALIGNED = "unaligned";

    /** Any timeout makes a barrier timeoutable. Nobody measures it here: the driver says when it is over. */
    private static final long ALIGNMENT_TIMEOUT_MILLIS = 1;

    private Events() {}

    static BufferConsumer encode(JsonNode element) throws BadRequest, IOException {
        AbstractEvent event = event(element);
        boolean priority =
                event instanceof CheckpointBarrier
                        && ((CheckpointBarrier) event).getCheckpointOptions().isUnalignedCheckpoint();
        return EventSerializer.toBufferConsumer(event, priority);
    }

    static ObjectNode decode(Buffer buffer) throws IOException {
        AbstractEvent event = EventSerializer.fromBuffer(buffer, Events.class.getClassLoader());
        if (event instanceof CheckpointBarrier) {
            CheckpointBarrier barrier = (CheckpointBarrier) event;
            return Json.tagged("barrier")
                    .put("checkpoint", barrier.getId())
                    .put("alignment", alignment(barrier.getCheckpointOptions(), buffer.getDataType()));
        }
        if (event instanceof CancelCheckpointMarker) {
            return Json.tagged("cancel-marker").put("checkpoint", ((CancelCheckpointMarker) event).getCheckpointId());
        }
        if (event instanceof SubtaskConnectionDescriptor) {
            SubtaskConnectionDescriptor descriptor = (SubtaskConnectionDescriptor) event;
            return Json.tagged("recovery-metadata")
                    .put("old_subtask", descriptor.getInputSubtaskIndex())
                    .put("old_channel", descriptor.getOutputSubtaskIndex());
        }
        if (event instanceof LabelledEvent) {
            return Json.tagged("event").put("label", ((LabelledEvent) event).label());
        }
        if (event instanceof EndOfOutputChannelStateEvent) {
            return Json.tagged("recovery-completion");
        }
        if (event instanceof EndOfData) {
            return Json.tagged("end-of-data");
        }
        if (event instanceof EndOfPartitionEvent) {
            return Json.tagged("end-of-partition");
        }
        throw new Segments.Garbled("an event that nobody sent: " + event);
    }

    private static AbstractEvent event(JsonNode element) throws BadRequest {
        String type = Json.text(Json.field(element, "type"));
        switch (type) {
            case "barrier":
                return new CheckpointBarrier(
                        Json.number(Json.field(element, "checkpoint")),
                        0, // the time it was triggered
                        options(Json.text(Json.field(element, "alignment"))));
            case "cancel-marker":
                return new CancelCheckpointMarker(Json.number(Json.field(element, "checkpoint")));
            case "event":
                return new LabelledEvent((int) Json.number(Json.field(element, "label")));
            case "recovery-metadata":
                return new SubtaskConnectionDescriptor(
                        (int) Json.number(Json.field(element, "old_subtask")),
                        (int) Json.number(Json.field(element, "old_channel")));
            case "recovery-completion":
                return EndOfOutputChannelStateEvent.INSTANCE;
            case "end-of-data":
                return new EndOfData(StopMode.DRAIN);
            case "end-of-partition":
                return EndOfPartitionEvent.INSTANCE;
            default:
                throw new BadRequest("unknown element type \"" + type + "\"");
        }
    }

    private static CheckpointOptions options(String alignment) throws BadRequest {
        CheckpointStorageLocationReference location = CheckpointStorageLocationReference.getDefault();
        switch (alignment) {
            case ALIGNED:
                return CheckpointOptions.alignedNoTimeout(CheckpointType.CHECKPOINT, location);
            case TIMEOUTABLE:
                return CheckpointOptions.alignedWithTimeout(
                        CheckpointType.CHECKPOINT, location, ALIGNMENT_TIMEOUT_MILLIS);
            case UNALIGNED:
                return CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, location);
            default:
                throw new BadRequest("unknown alignment \"" + alignment + "\"");
        }
    }

    /** The barrier says it, and so does the type of its buffer, which is all that the network stack looks at. */
    private static String alignment(CheckpointOptions options, Buffer.DataType type) {
        String said =
                options.isUnalignedCheckpoint() ? UNALIGNED : options.isTimeoutable() ? TIMEOUTABLE : ALIGNED;
        String shown = type.hasPriority() ? UNALIGNED : type.requiresAnnouncement() ? TIMEOUTABLE : ALIGNED;
        if (!said.equals(shown)) {
            throw new Segments.Garbled("the barrier is " + said + ", but its buffer has the type " + type);
        }
        return said;
    }
}
