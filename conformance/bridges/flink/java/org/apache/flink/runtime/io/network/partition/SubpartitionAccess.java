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
        ResultSubpartition[] subpartitions = new ResultSubpartition[1];
        PipelinedResultPartition partition =
                new PipelinedResultPartition(
                        "conformance",
                        0,
                        ID,
                        ResultPartitionType.PIPELINED_BOUNDED,
                        subpartitions,
                        1,
                        new ResultPartitionManager(),
                        null, // no compression
                        SubpartitionAccess::noPool);
        subpartitions[0] = new PipelinedSubpartition(0, exclusiveBuffers, BUFFER_SIZE, partition);
        partition.setChannelStateWriter(writer);
        return partition;
    }

    public static PipelinedSubpartition subpartition(PipelinedResultPartition partition) {
        return (PipelinedSubpartition) partition.subpartitions[0];
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

    private static ResultPartitionID id(JobVertexID vertex) {
        ExecutionGraphID graph = new ExecutionGraphID(vertex.getBytes());
        return new ResultPartitionID(
                new IntermediateResultPartitionID(new IntermediateDataSetID(vertex, 0), 0),
                new ExecutionAttemptID(graph, new ExecutionVertexID(vertex, 0), 0));
    }
}
