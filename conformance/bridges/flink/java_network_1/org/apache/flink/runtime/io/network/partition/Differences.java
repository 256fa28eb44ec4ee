package org.apache.flink.runtime.io.network.partition;

import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.partition.consumer.EndOfChannelStateEvent;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobVertexID;

/** What the network stack calls otherwise since 2.0: here, before 2.0, where one event ends all recovered state. */
public final class Differences {

    private Differences() {}

    public static IntermediateDataSetID dataSet(JobVertexID producer, int index) {
        return new IntermediateDataSetID(new JobVertexID(producer.getLowerPart() + index, producer.getUpperPart()));
    }

    static PipelinedSubpartition subpartition(
            int index, int exclusiveBuffers, int bufferSize, ResultPartition partition) {
        return new PipelinedSubpartition(index, exclusiveBuffers, partition);
    }

    public static boolean endsInputState(Object event) {
        return event instanceof EndOfChannelStateEvent;
    }

    public static boolean endsOutputState(Object event) {
        return event instanceof EndOfChannelStateEvent;
    }

    public static AbstractEvent endOfOutputState() {
        return EndOfChannelStateEvent.INSTANCE;
    }
}
