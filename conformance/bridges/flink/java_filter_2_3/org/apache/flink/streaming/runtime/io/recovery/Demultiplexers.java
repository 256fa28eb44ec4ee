package org.apache.flink.streaming.runtime.io.recovery;

import conformance.flink.FilteredInput;
import conformance.flink.FilteringTask;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;

/** How the filters of a demultiplexer are made since 2.3. */
public final class Demultiplexers {

    private Demultiplexers() {}

    public static Demultiplexer create(InputChannelInfo channel, FilteringTask task) {
        FilteredInput input = task.inputs[channel.getGateIdx()];
        VirtualChannelRecordFilterFactory<Object> filters =
                new VirtualChannelRecordFilterFactory<>(
                        input.serializer, input.partitioner, task.subtask, task.parallelism, task.maxParallelism);
        return new Demultiplexer(
                DemultiplexingRecordDeserializer.create(
                        channel,
                        task.descriptor,
                        count -> Demultiplexer.deserializer(task.folders, count),
                        unused -> filters.createFilter()),
                input.serializer);
    }
}
