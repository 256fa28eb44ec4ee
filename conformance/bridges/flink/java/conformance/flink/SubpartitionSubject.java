package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.BufferAvailabilityListener;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionView;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@link PipelinedSubpartition}, in a real partition and read through a real view. */
final class SubpartitionSubject implements Subject, BufferAvailabilityListener {

    private final Segments segments = new Segments();
    private final RecordingStateWriter writer = new RecordingStateWriter();
    private final PipelinedResultPartition partition;
    private final PipelinedSubpartition subpartition;
    private ResultSubpartitionView view;
    /** The buffer that the producer is still writing; null if there is none. */
    private BufferBuilder unfinished;

    private ArrayNode signals;

    SubpartitionSubject(int exclusiveBuffers) {
        partition = SubpartitionAccess.partition(exclusiveBuffers, writer);
        subpartition = SubpartitionAccess.subpartition(partition);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "add":
                return add(arguments.node(0));
            case "append":
                Segments.append(unfinished(), Json.ids(arguments.node(0)));
                return null;
            case "finish_buffer":
                unfinished().finish();
                closeUnfinished();
                return null;
            case "flush":
                subpartition.flush();
                return null;
            case "finish":
                subpartition.finish();
                return null;
            case "attach_view":
                view = subpartition.createReadView(this);
                return null;
            case "poll":
                return poll();
            case "available":
                return available(arguments.truth(0));
            case "resume":
                SubpartitionAccess.resume(subpartition);
                return null;
            case "aligned_timeout":
                subpartition.alignedBarrierTimeout(arguments.number(0));
                return null;
            case "abort":
                subpartition.abortCheckpoint(
                        arguments.number(0), new CheckpointException(Errors.reason(arguments.text(1))));
                return null;
            case "recover":
                add(arguments.node(0));
                return null;
            case "finish_recovery":
                partition.finishReadRecoveredState(arguments.truth(0));
                return null;
            case "persisted":
                return writer.persisted(arguments.number(0));
            case "resources":
                return resources();
            case "release":
                subpartition.release();
                closeUnfinished(); // Flink does this when it closes the partition, which owns the builders
                return null;
            default:
                throw new BadRequest("a subpartition has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        ArrayNode taken = signals;
        signals = null;
        return taken;
    }

    @Override
    public void notifyDataAvailable(ResultSubpartitionView view) {
        signal(Json.tagged("data-available"));
    }

    @Override
    public void notifyPriorityEvent(int sequenceNumber) {
        signal(Json.tagged("priority-available").put("seq", sequenceNumber));
    }

    private void signal(ObjectNode signal) {
        if (signals == null) {
            signals = Json.array();
        }
        signals.add(signal);
    }

    private boolean add(JsonNode element) throws BadRequest, IOException {
        boolean isData = "data".equals(Json.text(Json.field(element, "type")));
        return accepted(isData ? data(element) : Events.encode(element));
    }

    private boolean accepted(BufferConsumer consumer) {
        boolean accepted = subpartition.add(consumer, 0) != ResultSubpartition.ADD_BUFFER_ERROR_CODE;
        if (!accepted) {
            closeUnfinished();
        }
        return accepted;
    }

    private BufferConsumer data(JsonNode element) throws BadRequest {
        if (unfinished != null) {
            throw new IllegalStateException("the producer has not finished the buffer that it added before");
        }
        BufferBuilder builder = segments.take();
        Segments.append(builder, Json.ids(Json.field(element, "ids")));
        // A consumer remembers whether its buffer was finished when it was made. So finish first, as Flink does where it
        // adds a whole buffer; the other way round, the buffer stays unseen until something follows it.
        boolean finished = !element.has("finished") || element.get("finished").booleanValue();
        if (finished) {
            builder.finish();
        }
        BufferConsumer consumer = builder.createBufferConsumerFromBeginning();
        if (finished) {
            builder.close();
        } else {
            unfinished = builder;
        }
        return consumer;
    }

    private BufferBuilder unfinished() {
        if (unfinished == null) {
            throw new IllegalStateException("there is no unfinished buffer");
        }
        return unfinished;
    }

    private void closeUnfinished() {
        if (unfinished != null) {
            unfinished.close();
            unfinished = null;
        }
    }

    private ObjectNode poll() throws IOException {
        ResultSubpartition.BufferAndBacklog polled = SubpartitionAccess.poll(subpartition);
        if (polled == null) {
            return null;
        }
        Buffer buffer = polled.buffer();
        try {
            ObjectNode taken = Json.object();
            taken.set("element", decode(buffer));
            return taken.put("seq", polled.getSequenceNumber())
                    .put("next", next(polled.getNextDataType()))
                    .put("backlog", polled.buffersInBacklog());
        } finally {
            buffer.recycleBuffer();
        }
    }

    private static ObjectNode decode(Buffer buffer) throws IOException {
        if (!buffer.isBuffer()) {
            return Events.decode(buffer);
        }
        ObjectNode data = Json.tagged("data");
        data.set("ids", Json.array(Segments.read(buffer)));
        return data;
    }

    private static String next(Buffer.DataType type) {
        if (type == Buffer.DataType.NONE) {
            return "none";
        }
        return type.isBuffer() ? "data" : type.hasPriority() ? "priority" : "event";
    }

    private ObjectNode available(boolean hasCredit) {
        ResultSubpartitionView.AvailabilityWithBacklog found = subpartition.getAvailabilityAndBacklog(hasCredit);
        return Json.object().put("available", found.isAvailable()).put("backlog", found.getBacklog());
    }

    private ObjectNode resources() {
        return Json.object()
                .put("segments", segments.taken())
                .put("listeners", view == null || view.isReleased() ? 0 : 1)
                .put("futures", writer.openFutures());
    }
}
