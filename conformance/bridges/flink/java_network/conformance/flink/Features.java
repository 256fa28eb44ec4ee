package conformance.flink;

import conformance.flink.rescaling.AssignmentSubject;
import java.util.Arrays;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/**
 * The capabilities of the Flink on the class path. They follow from its methods, never from its version or behaviour: a
 * release that has a feature with a bug must fail the properties of the feature, and not skip them.
 */
public final class Features {

    private static final String NETWORK = "org.apache.flink.runtime.io.network.";

    private Features() {}

    public static ArrayNode capabilities() {
        // The adapter itself provides the first three, with its recording writer and its counting recycler.
        ArrayNode found = Json.array().add("faults").add("persisted-readback").add("resources").add("unions");
        found.add("rescales-forced-edges").add("filters-records").add("says-how-taken");
        if (has(NETWORK + "partition.PipelinedSubpartition", "alignedBarrierTimeout")) {
            found.add("timeoutable-barriers");
        }
        if (has(NETWORK + "partition.PipelinedResultPartition", "finishReadRecoveredState")) {
            found.add("output-recovered-upstream");
        }
        if (AssignmentSubject.CAN_RECOVER_ON_DOWNSTREAM) {
            found.add("output-recovered-downstream");
        }
        if (has(NETWORK + "partition.consumer.RecoveredInputChannel", "toInputChannel")) {
            found.add("recover-first");
        }
        if (has(NETWORK + "partition.consumer.SingleInputGate", "setCheckpointingDuringRecoveryEnabled")) {
            found.add("recover-in-memory");
        }
        // FLINK-39018 made priority events pass a blocked subpartition so that checkpoints can be taken during recovery.
        // It changed no method of the subpartition. The switch for such checkpoints came with it, in 2.3.0; 2.2 has
        // neither. A subpartition serves local and remote readers with the same code.
        if (has(NETWORK + "partition.consumer.SingleInputGate", "setCheckpointingDuringRecoveryEnabled")) {
            found.add("blocked-priority-local").add("blocked-priority-remote");
        }
        return found;
    }

    private static boolean has(String className, String method) {
        try {
            Class<?> found = Class.forName(className, false, Features.class.getClassLoader());
            return Arrays.stream(found.getDeclaredMethods()).anyMatch(one -> one.getName().equals(method));
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }
}
