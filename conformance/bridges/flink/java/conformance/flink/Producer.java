package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Writes into one subpartition, as the record writer of a task does. */
final class Producer {

    private final PipelinedSubpartition subpartition;
    private final Segments segments;
    /** The buffer that is still being written; null if there is none. */
    private BufferBuilder unfinished;

    Producer(PipelinedSubpartition subpartition, Segments segments) {
        this.subpartition = subpartition;
        this.segments = segments;
    }

    /** Whether the subpartition accepted the element. */
    boolean add(JsonNode element) throws BadRequest, IOException {
        BufferConsumer consumer = Events.isData(element) ? data(element) : Events.encode(element);
        boolean accepted = subpartition.add(consumer, 0) != ResultSubpartition.ADD_BUFFER_ERROR_CODE;
        if (!accepted) {
            close();
        }
        return accepted;
    }

    /** The same, with the end of the partition as Flink adds it: nothing is accepted after it. */
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

    /** Flink does this when it closes the partition, which owns the builders. */
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
}
