package conformance.flink.rescaling;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateAssignmentOperation;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;

/** State assignment before 2.3: the producers recover their output state. */
final class Assignments {

    static final boolean CAN_RECOVER_ON_DOWNSTREAM = false;

    private Assignments() {}

    static StateAssignmentOperation operation(
            Set<ExecutionJobVertex> vertices, Map<OperatorID, OperatorState> states, boolean unused) {
        return new StateAssignmentOperation(1, vertices, states, false);
    }

    static Iterable<InputChannelStateHandle> fromUpstream(OperatorSubtaskState state) {
        return List.of();
    }
}
