package org.apache.flink.runtime.checkpoint.channel;

import conformance.flink.FilteringTask;
import java.io.IOException;
import java.util.List;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.state.InputChannelStateHandle;

/** How the reader of channel state is called before 2.3: nothing is filtered, and all that it recovers is input state. */
final class StateFetches {

    /** Whether a task recovers what its producers had not sent. */
    static final boolean HAS_UPSTREAM_OUTPUT = false;

    private StateFetches() {}

    static void setUpstreamOutput(OperatorSubtaskState.Builder state, List<InputChannelStateHandle> handles) {
        assert handles.isEmpty();
    }

    static void read(SequentialChannelStateReader reader, InputGate[] gates, FilteringTask task)
            throws IOException, InterruptedException {
        reader.readInputData(gates);
    }
}
