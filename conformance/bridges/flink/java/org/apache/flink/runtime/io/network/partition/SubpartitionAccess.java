package org.apache.flink.runtime.io.network.partition;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.executiongraph.ExecutionGraphID;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.IntermediateResultPartitionID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

/**
 * Opens what Flink keeps package-private. It stands in Flink's package for that reason alone, and must be loaded by the
 * class loader that loads Flink, since a package belongs to one loader.
 */
public final class SubpartitionAccess {

    /** A producer hands its buffers over in this size; it only matters to a consumer that asks for another. */
    private static final int BUFFER_SIZE = 4096;

    /** The same in every run: Flink puts it into its messages, and a replay must give the same history. */
    private static final ResultPartitionID ID = id(new JobVertexID(0, 0));

    private SubpartitionAccess() {}

    /** A real partition with one real subpartition, which gives its output state to {@code writer}. */
    public static PipelinedResultPartition partition(int exclusiveBuffers, ChannelStateWriter writer) {
        return partition(ID, 1, exclusiveBuffers, new ResultPartitionManager(), writer);
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
            subpartitions[index] = new PipelinedSubpartition(index, exclusiveBuffers, BUFFER_SIZE, partition);
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

    /** What a view does when it is asked for its next buffer; this way it can be asked before there is a view. */
    public static ResultSubpartition.BufferAndBacklog poll(PipelinedSubpartition subpartition) {
        return subpartition.pollBuffer();
    }

    public static void resume(PipelinedSubpartition subpartition) {
        subpartition.resumeConsumption();
    }

    private static BufferPool noPool() throws IOException {
        throw new IOException("the segments of this partition come from the adapter, not from a pool");
    }

    /** The same in every run, another one for every producer. */
    public static ResultPartitionID id(int producer) {
        return id(new JobVertexID(producer, 0));
    }

    private static ResultPartitionID id(JobVertexID vertex) {
        ExecutionGraphID graph = new ExecutionGraphID(vertex.getBytes());
        return new ResultPartitionID(
                new IntermediateResultPartitionID(new IntermediateDataSetID(vertex, 0), 0),
                new ExecutionAttemptID(graph, new ExecutionVertexID(vertex, 0), 0));
    }
}
