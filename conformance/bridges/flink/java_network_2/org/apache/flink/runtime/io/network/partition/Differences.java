package org.apache.flink.runtime.io.network.partition;

import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.partition.consumer.EndOfInputChannelStateEvent;
import org.apache.flink.runtime.io.network.partition.consumer.EndOfOutputChannelStateEvent;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobVertexID;

/** What the network stack calls otherwise before 2.0: here, since 2.0. */
public final class Differences {

    private Differences() {}

    public static IntermediateDataSetID dataSet(JobVertexID producer, int index) {
        return new IntermediateDataSetID(producer, index);
    }

    static PipelinedSubpartition subpartition(
            int index, int exclusiveBuffers, int bufferSize, ResultPartition partition) {
        return new PipelinedSubpartition(index, exclusiveBuffers, bufferSize, partition);
    }

    public static boolean endsInputState(Object event) {
        return event instanceof EndOfInputChannelStateEvent;
    }

    public static boolean endsOutputState(Object event) {
        return event instanceof EndOfOutputChannelStateEvent;
    }

    public static AbstractEvent endOfOutputState() {
        return EndOfOutputChannelStateEvent.INSTANCE;
    }
}
