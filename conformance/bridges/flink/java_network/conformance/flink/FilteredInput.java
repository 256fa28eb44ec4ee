package conformance.flink;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;

/** What a task knows of a gate whose recovered state is filtered. */
public final class FilteredInput {

    public final TypeSerializer<Object> serializer;
    /** That of the edge; it was not set up. */
    public final StreamPartitioner<Object> partitioner;

    public FilteredInput(TypeSerializer<Object> serializer, StreamPartitioner<Object> partitioner) {
        this.serializer = serializer;
        this.partitioner = partitioner;
    }
}
