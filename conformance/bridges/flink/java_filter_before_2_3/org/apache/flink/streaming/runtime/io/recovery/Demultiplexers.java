package org.apache.flink.streaming.runtime.io.recovery;

import conformance.flink.FilteredInput;
import conformance.flink.FilteringTask;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.streaming.runtime.partitioner.ConfigurableStreamPartitioner;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;

/** How the filters of a demultiplexer are made before 2.3 ({@code RescalingStreamTaskNetworkInput}). */
public final class Demultiplexers {

    private Demultiplexers() {}

    public static Demultiplexer create(InputChannelInfo channel, FilteringTask task) {
        FilteredInput input = task.inputs[channel.getGateIdx()];
        if (input.partitioner instanceof ConfigurableStreamPartitioner) {
            ((ConfigurableStreamPartitioner) input.partitioner).configure(task.maxParallelism);
        }
        return new Demultiplexer(
                DemultiplexingRecordDeserializer.create(
                        channel,
                        task.descriptor,
                        count -> Demultiplexer.deserializer(task.folders, count),
                        unused -> {
                            StreamPartitioner<Object> partitioner = input.partitioner.copy();
                            partitioner.setup(task.parallelism);
                            return new RecordFilter<>(partitioner, input.serializer, task.subtask);
                        }),
                input.serializer);
    }
}
