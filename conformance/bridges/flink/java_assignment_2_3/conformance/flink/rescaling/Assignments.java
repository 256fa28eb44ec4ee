package conformance.flink.rescaling;

import java.util.Map;
import java.util.Set;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateAssignmentOperation;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;

/** State assignment since 2.3, which can send output state to the consumers. */
final class Assignments {

    static final boolean CAN_RECOVER_ON_DOWNSTREAM = true;

    private Assignments() {}

    static StateAssignmentOperation operation(
            Set<ExecutionJobVertex> vertices, Map<OperatorID, OperatorState> states, boolean outputOnDownstream) {
        return new StateAssignmentOperation(1, vertices, states, false, outputOnDownstream);
    }

    static Iterable<InputChannelStateHandle> fromUpstream(OperatorSubtaskState state) {
        return state.getUpstreamOutputBufferState();
    }
}
