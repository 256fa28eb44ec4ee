package org.apache.flink.runtime.checkpoint.channel;

import conformance.flink.FilteringTask;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;

/** The fetch of input state before 2.3: nothing is filtered. */
public final class StateFetches {

    private StateFetches() {}

    public static StateFetch begin(InputGate[] gates, FilteringTask task) {
        return new StateFetch(new InputChannelRecoveredStateHandler(gates, task.descriptor)) {
            @Override
            protected void checkEnd() {}

            @Override
            protected void closeFilter() {}
        };
    }
}
