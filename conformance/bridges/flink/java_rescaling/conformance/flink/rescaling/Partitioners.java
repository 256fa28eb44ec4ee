package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.runtime.partitioner.BroadcastPartitioner;
import org.apache.flink.streaming.runtime.partitioner.CustomPartitionerWrapper;
import org.apache.flink.streaming.runtime.partitioner.ForwardPartitioner;
import org.apache.flink.streaming.runtime.partitioner.GlobalPartitioner;
import org.apache.flink.streaming.runtime.partitioner.KeyGroupStreamPartitioner;
import org.apache.flink.streaming.runtime.partitioner.RebalancePartitioner;
import org.apache.flink.streaming.runtime.partitioner.RescalePartitioner;
import org.apache.flink.streaming.runtime.partitioner.ShufflePartitioner;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;

/** The partitioners of Flink, by the names that the kinds of edges have in the port. */
public final class Partitioners {

    private static final int MAX_PARALLELISM = 128;

    /** What a record is, or has, as its key. */
    private static final KeySelector<Object, Object> ITSELF = record -> record;

    private Partitioners() {}

    /** A fresh partitioner that distributes records over so many channels. */
    static StreamPartitioner<Object> make(String kind, int maxParallelism, int channels) throws BadRequest {
        StreamPartitioner<Object> partitioner = make(kind, maxParallelism);
        partitioner.setup(channels);
        return partitioner;
    }

    /** One that was not set up, for what does not depend on channels. */
    static StreamPartitioner<Object> make(String kind) throws BadRequest {
        return make(kind, MAX_PARALLELISM);
    }

    private static StreamPartitioner<Object> make(String kind, int maxParallelism) throws BadRequest {
        return make(kind, maxParallelism, ITSELF);
    }

    /** One that was not set up. {@code keys}: what the key of a record is, a {@code Long} unless records are keyed. */
    public static StreamPartitioner<Object> make(String kind, int maxParallelism, KeySelector<Object, Object> keys)
            throws BadRequest {
        switch (kind) {
            case "hash":
                return new KeyGroupStreamPartitioner<>(keys, maxParallelism);
            case "rebalance":
                return new RebalancePartitioner<>();
            case "shuffle":
                return new ShufflePartitioner<>();
            case "global":
                return new GlobalPartitioner<>();
            case "custom":
                return new CustomPartitionerWrapper<>(new Counting(), keys);
            case "broadcast":
                return new BroadcastPartitioner<>();
            case "forward":
                return new ForwardPartitioner<>();
            case "rescale":
                return new RescalePartitioner<>();
            default:
                throw new BadRequest("unknown kind of edge \"" + kind + "\"");
        }
    }

    /** The user's partitioner of the suite: it counts what it has seen. */
    private static final class Counting implements Partitioner<Object> {

        private static final long serialVersionUID = 1L;

        private long seen;

        @Override
        public int partition(Object key, int channels) {
            return (int) Math.floorMod((Long) key + seen++, (long) channels);
        }
    }
}
