package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@code LocalInputChannel} and the real subpartition that it reads. */
final class LocalChannelSubject extends ChannelSubject {

    private static final String PRODUCER = "producer";

    private final PipelinedResultPartition partition;
    private final PipelinedSubpartition subpartition;
    private final Producer producer;
    private final InputChannel channel;

    LocalChannelSubject(JsonNode config) throws BadRequest, IOException {
        super(config);
        ResultPartitionManager partitions = new FaultyPartitions(faults);
        ResultPartitionID id = SubpartitionAccess.id(0);
        partition = SubpartitionAccess.partition(id, 1, exclusiveBuffers, partitions, writer);
        partitions.registerResultPartition(partition);
        subpartition = SubpartitionAccess.subpartition(partition);
        producer = new Producer(subpartition, segments);
        channel =
                Recovery.isInMemory(config)
                        ? converted(
                                ConsumerAccess.recoveredLocal(gate, 0, id, partitions, exclusiveBuffers, writer),
                                Json.field(config, "handed_over"))
                        : ConsumerAccess.local(gate, 0, id, partitions, writer);
    }

    @Override
    InputChannel channel() {
        return channel;
    }

    @Override
    Object callMore(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "request":
                ConsumerAccess.request(channel);
                return null;
            case "add":
                return producer.send(arguments.node(0));
            case "resume":
                channel.resumeConsumption();
                return null;
            case "insert_recovery_barrier":
            case "in_recovery":
                return false; // no release pushes recovered buffers
            case "release":
                ConsumerAccess.release(channel);
                subpartition.release();
                producer.close();
                return null;
            default:
                throw new BadRequest("this local channel has no method \"" + method + "\"");
        }
    }

    @Override
    boolean fault(String place, String kind, long nth) throws Exception {
        switch (place) {
            case FaultyPartitions.PLACE:
                faults.arm(place, kind, nth);
                return true;
            case PRODUCER:
                faults.arm(place, kind, nth);
                partition.fail(Faults.failure(place)); // what the producer's task does
                return true;
            default:
                return super.fault(place, kind, nth);
        }
    }

    /** A take that finds that the subpartition was released since its producer has failed, cancels the task. */
    @Override
    ObjectNode take() throws IOException, InterruptedException {
        try {
            return super.take();
        } catch (CancelTaskException released) {
            if (faults.strike(PRODUCER) == null) {
                throw released;
            }
            throw new IOException(released);
        }
    }

    @Override
    ObjectNode resources() {
        return Json.object()
                .put("segments", segments.taken() + memory.taken())
                .put("listeners", ConsumerAccess.listens(channel) ? 1 : 0)
                .put("futures", writer.openFutures());
    }
}
