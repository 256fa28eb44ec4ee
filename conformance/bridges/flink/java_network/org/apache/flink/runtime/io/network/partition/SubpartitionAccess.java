package org.apache.flink.runtime.io.network.partition;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.executiongraph.ExecutionGraphID;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.jobgraph.IntermediateResultPartitionID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

/**
 * Calls package-private code of Flink. For that it is in Flink's package, and the class loader that loads Flink must
 * load it, since a package belongs to one class loader.
 */
public final class SubpartitionAccess {

    /** The initial buffer size. It matters only if a consumer announces another size. */
    private static final int BUFFER_SIZE = 4096;

    /** The same in every run, because Flink puts it into error messages and a replay must give the same history. */
    private static final ResultPartitionID ID = id(new JobVertexID(0, 0));

    private SubpartitionAccess() {}

    /** A real partition with one real subpartition, which hands its output state to {@code writer}. */
    public static PipelinedResultPartition partition(int exclusiveBuffers, ChannelStateWriter writer)
            throws IOException {
        ResultPartitionManager manager = new ResultPartitionManager();
        PipelinedResultPartition partition = partition(ID, 1, exclusiveBuffers, manager, writer);
        manager.registerResultPartition(partition); // so that it is released if its producer fails
        return partition;
    }

    /** A real partition with real subpartitions. */
    public static PipelinedResultPartition partition(
            ResultPartitionID id,
            int count,
            int exclusiveBuffers,
            ResultPartitionManager manager,
            ChannelStateWriter writer) {
        ResultSubpartition[] subpartitions = new ResultSubpartition[count];
        PipelinedResultPartition partition =
                new PipelinedResultPartition(
                        "conformance",
                        0,
                        id,
                        ResultPartitionType.PIPELINED_BOUNDED,
                        subpartitions,
                        count,
                        manager,
                        null, // no compression
                        SubpartitionAccess::noPool);
        for (int index = 0; index < count; index++) {
            subpartitions[index] = Differences.subpartition(index, exclusiveBuffers, BUFFER_SIZE, partition);
        }
        partition.setChannelStateWriter(writer);
        return partition;
    }

    public static PipelinedSubpartition subpartition(PipelinedResultPartition partition) {
        return subpartition(partition, 0);
    }

    public static PipelinedSubpartition subpartition(PipelinedResultPartition partition, int index) {
        return (PipelinedSubpartition) partition.subpartitions[index];
    }

    /** Polls as a view does. A scenario may also poll before there is a view. */
    public static ResultSubpartition.BufferAndBacklog poll(PipelinedSubpartition subpartition) {
        return subpartition.pollBuffer();
    }

    public static void resume(PipelinedSubpartition subpartition) {
        subpartition.resumeConsumption();
    }

    private static BufferPool noPool() throws IOException {
        throw new IOException("the segments of this partition come from the adapter, not from a pool");
    }

    /** The same in every run, and another one for each producer. */
    public static ResultPartitionID id(int producer) {
        return id(new JobVertexID(producer, 0));
    }

    private static ResultPartitionID id(JobVertexID vertex) {
        ExecutionGraphID graph = new ExecutionGraphID(vertex.getBytes());
        return new ResultPartitionID(
                new IntermediateResultPartitionID(Differences.dataSet(vertex, 0), 0),
                new ExecutionAttemptID(graph, new ExecutionVertexID(vertex, 0), 0));
    }
}
