package org.apache.flink.runtime.checkpoint.channel;

import conformance.flink.FilteredInput;
import conformance.flink.FilteringTask;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.streaming.runtime.io.recovery.RecordFilterContext;

/** How the reader of channel state is called since 2.3, which may filter. */
final class StateFetches {

    /** Whether a task recovers what its producers had not sent. */
    static final boolean HAS_UPSTREAM_OUTPUT = true;

    private StateFetches() {}

    static void setUpstreamOutput(OperatorSubtaskState.Builder state, List<InputChannelStateHandle> handles) {
        state.setUpstreamOutputBufferState(new StateObjectCollection<>(handles));
    }

    static void read(SequentialChannelStateReader reader, InputGate[] gates, FilteringTask task)
            throws IOException, InterruptedException {
        RecordFilterContext.InputFilterConfig[] inputs =
                Arrays.stream(task.inputs)
                        .map(one -> config(one, task.parallelism))
                        .toArray(RecordFilterContext.InputFilterConfig[]::new);
        RecordFilterContext context =
                new RecordFilterContext(
                        inputs,
                        task.descriptor,
                        task.subtask,
                        task.maxParallelism,
                        task.folders,
                        task.filtersWhileReading);
        reader.readInputData(gates, context);
    }

    private static RecordFilterContext.InputFilterConfig config(FilteredInput input, int parallelism) {
        return new RecordFilterContext.InputFilterConfig(input.serializer, input.partitioner, parallelism);
    }
}
