package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.EndOfPartitionEvent;
import org.apache.flink.runtime.io.network.api.EventAnnouncement;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.Differences;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Translates all elements that are not data from JSON to buffers of Flink events, and back. */
final class Events {

    private static final String ALIGNED = "aligned";
    private static final String TIMEOUTABLE = "timeoutable";
    private static final String UNALIGNED = "unaligned";

    /** Any timeout makes a barrier timeoutable. No timer measures it: the driver says when it fires. */
    private static final long ALIGNMENT_TIMEOUT_MILLIS = 1;

    private Events() {}

    static boolean isData(JsonNode element) throws BadRequest {
        return "buffer".equals(Json.text(Json.field(element, "type")));
    }

    static boolean endsPartition(JsonNode element) throws BadRequest {
        return "end-of-partition".equals(Json.text(Json.field(element, "type")));
    }

    static BufferConsumer encode(JsonNode element) throws BadRequest, IOException {
        AbstractEvent event = event(element);
        boolean priority =
                event instanceof CheckpointBarrier
                        && ((CheckpointBarrier) event).getCheckpointOptions().isUnalignedCheckpoint();
        return EventSerializer.toBufferConsumer(event, priority);
    }

    /** The event as a buffer that a remote channel or a persister takes. */
    static Buffer encodeBuffer(JsonNode element) throws BadRequest, IOException {
        return encodeBuffer(event(element));
    }

    static Buffer encodeBuffer(AbstractEvent event) throws IOException {
        boolean priority =
                event instanceof EventAnnouncement
                        || event instanceof CheckpointBarrier
                                && ((CheckpointBarrier) event).getCheckpointOptions().isUnalignedCheckpoint();
        return EventSerializer.toBuffer(event, priority);
    }

    /** The barrier of a checkpoint that was triggered at this time, as it comes out of a channel. */
    static CheckpointBarrier barrier(JsonNode element, long timestamp, long timeout) throws BadRequest {
        return new CheckpointBarrier(
                Json.number(Json.field(element, "checkpoint")),
                timestamp,
                options(Json.text(Json.field(element, "alignment")), timeout));
    }

    /** The barrier in an announcement. */
    static CheckpointBarrier timeoutable(long checkpoint, long timestamp, long timeout) throws BadRequest {
        return new CheckpointBarrier(checkpoint, timestamp, options(TIMEOUTABLE, timeout));
    }

    /** The barrier that a task passes to {@code checkpointStarted}. */
    static CheckpointBarrier barrier(JsonNode element) throws BadRequest {
        AbstractEvent event = event(element);
        if (!(event instanceof CheckpointBarrier)) {
            throw new BadRequest("expected a barrier, found " + element);
        }
        return (CheckpointBarrier) event;
    }

    /** An event that a subpartition returned. Its data type must agree with the alignment of a barrier. */
    static ObjectNode decode(Buffer buffer) throws IOException {
        AbstractEvent event = event(buffer);
        if (event instanceof CheckpointBarrier) {
            check((CheckpointBarrier) event, buffer.getDataType());
        }
        return describe(event, buffer.getDataType().hasPriority());
    }

    static AbstractEvent event(Buffer buffer) throws IOException {
        return EventSerializer.fromBuffer(buffer, Events.class.getClassLoader());
    }

    /**
     * {@code hasPriority}: of the buffer, which says how a barrier travels. The options in a barrier do not say so: a
     * remote channel that converts an announced barrier to a priority event leaves them as they were.
     */
    static ObjectNode describe(AbstractEvent event, boolean hasPriority) {
        if (event instanceof CheckpointBarrier) {
            CheckpointBarrier barrier = (CheckpointBarrier) event;
            return Json.tagged("barrier")
                    .put("checkpoint", barrier.getId())
                    .put("alignment", hasPriority ? UNALIGNED : alignment(barrier.getCheckpointOptions()));
        }
        if (event instanceof EventAnnouncement) {
            EventAnnouncement announcement = (EventAnnouncement) event;
            return Json.tagged("announcement")
                    .put("checkpoint", ((CheckpointBarrier) announcement.getAnnouncedEvent()).getId())
                    .put("seq", announcement.getSequenceNumber());
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
        if (Differences.endsOutputState(event)) {
            return Json.tagged("recovery-completion");
        }
        if (event instanceof EndOfData) {
            return Json.tagged("end-of-data");
        }
        if (event instanceof EndOfPartitionEvent) {
            return Json.tagged("end-of-partition");
        }
        throw new Segments.Garbled("unexpected event: " + event);
    }

    private static AbstractEvent event(JsonNode element) throws BadRequest {
        String type = Json.text(Json.field(element, "type"));
        switch (type) {
            case "barrier":
                return new CheckpointBarrier(
                        Json.number(Json.field(element, "checkpoint")),
                        0, // the timestamp of the checkpoint
                        options(Json.text(Json.field(element, "alignment"))));
            case "announcement":
                return new EventAnnouncement(
                        new CheckpointBarrier(Json.number(Json.field(element, "checkpoint")), 0, options(TIMEOUTABLE)),
                        (int) Json.number(Json.field(element, "seq")));
            case "cancel-marker":
                return new CancelCheckpointMarker(Json.number(Json.field(element, "checkpoint")));
            case "event":
                return new LabelledEvent((int) Json.number(Json.field(element, "label")));
            case "recovery-metadata":
                return new SubtaskConnectionDescriptor(
                        (int) Json.number(Json.field(element, "old_subtask")),
                        (int) Json.number(Json.field(element, "old_channel")));
            case "recovery-completion":
                return Differences.endOfOutputState();
            case "end-of-data":
                return new EndOfData(StopMode.DRAIN);
            case "end-of-partition":
                return EndOfPartitionEvent.INSTANCE;
            default:
                throw new BadRequest("unknown element type \"" + type + "\"");
        }
    }

    /** A barrier that overtakes. */
    static CheckpointBarrier unaligned(long checkpoint) {
        CheckpointStorageLocationReference location = CheckpointStorageLocationReference.getDefault();
        return new CheckpointBarrier(checkpoint, 0, CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, location));
    }

    private static CheckpointOptions options(String alignment) throws BadRequest {
        return options(alignment, ALIGNMENT_TIMEOUT_MILLIS);
    }

    /** The options of a checkpoint whose barriers may be queued for so long. */
    static CheckpointOptions options(String alignment, long timeout) throws BadRequest {
        CheckpointStorageLocationReference location = CheckpointStorageLocationReference.getDefault();
        switch (alignment) {
            case ALIGNED:
                return CheckpointOptions.alignedNoTimeout(CheckpointType.CHECKPOINT, location);
            case TIMEOUTABLE:
                return CheckpointOptions.alignedWithTimeout(CheckpointType.CHECKPOINT, location, timeout);
            case UNALIGNED:
                return CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, location);
            default:
                throw new BadRequest("unknown alignment \"" + alignment + "\"");
        }
    }

    private static String alignment(CheckpointOptions options) {
        return options.isUnalignedCheckpoint() ? UNALIGNED : options.isTimeoutable() ? TIMEOUTABLE : ALIGNED;
    }

    /** Checks that the options in a barrier agree with the data type of its buffer. */
    private static void check(CheckpointBarrier barrier, Buffer.DataType type) {
        String said = alignment(barrier.getCheckpointOptions());
        String shown = type.hasPriority() ? UNALIGNED : type.requiresAnnouncement() ? TIMEOUTABLE : ALIGNED;
        if (!said.equals(shown)) {
            throw new Segments.Garbled("the barrier is " + said + ", but its buffer has the type " + type);
        }
    }
}
