package conformance.flink;

import java.io.IOException;
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

    private final PipelinedResultPartition partition;
    private final PipelinedSubpartition subpartition;
    private final Producer producer;
    private final InputChannel channel;

    LocalChannelSubject(JsonNode config) throws BadRequest, IOException {
        super(config);
        ResultPartitionManager partitions = new ResultPartitionManager();
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
    ObjectNode resources() {
        return Json.object()
                .put("segments", segments.taken() + memory.taken())
                .put("listeners", ConsumerAccess.listens(channel) ? 1 : 0)
                .put("futures", writer.openFutures());
    }
}
