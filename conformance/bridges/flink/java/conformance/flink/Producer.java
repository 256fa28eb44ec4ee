package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Writes into one subpartition, as a record writer does. */
final class Producer {

    private final PipelinedSubpartition subpartition;
    private final Segments segments;
    /** The buffer that is still being written; null if there is none. */
    private BufferBuilder unfinished;

    Producer(PipelinedSubpartition subpartition, Segments segments) {
        this.subpartition = subpartition;
        this.segments = segments;
    }

    /** Adds an element. Returns whether the subpartition accepted it. */
    boolean add(JsonNode element) throws BadRequest, IOException {
        BufferConsumer consumer = Events.isData(element) ? data(element) : Events.encode(element);
        boolean accepted = subpartition.add(consumer, 0) != ResultSubpartition.ADD_BUFFER_ERROR_CODE;
        if (!accepted) {
            close();
        }
        return accepted;
    }

    /** As {@code add}, but adds the end of partition by finishing the subpartition, as Flink does. */
    boolean send(JsonNode element) throws BadRequest, IOException {
        if (!Events.endsPartition(element)) {
            return add(element);
        }
        boolean accepted = !subpartition.isReleased();
        subpartition.finish();
        return accepted;
    }

    void append(JsonNode ids) throws BadRequest {
        Segments.append(unfinished(), Json.ids(ids));
    }

    void finishBuffer() {
        unfinished().finish();
        close();
    }

    /** Closes the buffer that is not finished. Flink's partition does so when it is closed. */
    void close() {
        if (unfinished != null) {
            unfinished.close();
            unfinished = null;
        }
    }

    private BufferConsumer data(JsonNode element) throws BadRequest {
        if (unfinished != null) {
            throw new IllegalStateException("the producer has not finished the buffer that it added before");
        }
        BufferBuilder builder = segments.take();
        Segments.append(builder, Json.ids(Json.field(element, "ids")));
        // A BufferConsumer remembers whether its buffer was finished when the consumer was made. So finish first, as
        // Flink does where it adds a whole buffer. Otherwise the buffer counts as unfinished until another one follows.
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
}
