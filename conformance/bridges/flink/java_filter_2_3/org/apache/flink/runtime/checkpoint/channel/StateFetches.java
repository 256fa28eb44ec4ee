package org.apache.flink.runtime.checkpoint.channel;

import conformance.flink.FilteredInput;
import conformance.flink.FilteringTask;
import java.util.Arrays;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.streaming.runtime.io.recovery.RecordFilterContext;
import org.apache.flink.util.Preconditions;

/** The fetch of input state since 2.3, which may filter. */
public final class StateFetches {

    private StateFetches() {}

    public static StateFetch begin(InputGate[] gates, FilteringTask task) {
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
        ChannelStateFilteringHandler filter =
                context.isCheckpointingDuringRecoveryEnabled()
                        ? ChannelStateFilteringHandler.createFromContext(context, gates)
                        : null;
        return new StateFetch(new InputChannelRecoveredStateHandler(gates, task.descriptor, filter)) {
            @Override
            protected void checkEnd() {
                Preconditions.checkState(filter == null || !filter.hasPartialData(), "not all data has been consumed");
            }

            @Override
            protected void closeFilter() {
                if (filter != null) {
                    filter.close();
                }
            }
        };
    }

    private static RecordFilterContext.InputFilterConfig config(FilteredInput input, int parallelism) {
        return new RecordFilterContext.InputFilterConfig(input.serializer, input.partitioner, parallelism);
    }
}
