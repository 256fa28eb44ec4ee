package conformance.flink;

import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The recovery design of a configuration. The adapter supports the two designs that Flink has released. */
final class Recovery {

    private Recovery() {}

    static boolean isNone(JsonNode config) throws BadRequest {
        return name(config).equals("none");
    }

    static boolean isInMemory(JsonNode config) throws BadRequest {
        return name(config).equals("in-memory");
    }

    /** Enables checkpoints during recovery in the gate if the configuration needs them. */
    static void prepare(SingleInputGate gate, JsonNode config) throws BadRequest {
        check(config);
        if (isInMemory(config)) {
            ConsumerAccess.enableCheckpointingDuringRecovery(gate);
        }
    }

    /** Refuses a design that this release does not have. */
    static void check(JsonNode config) throws BadRequest {
        if (name(config).equals("pushed")) {
            throw new BadRequest("no release pushes recovered buffers into physical channels yet");
        }
        if (isInMemory(config) && !ConsumerAccess.canCheckpointDuringRecovery()) {
            throw new BadRequest("this release cannot hand recovered buffers over to a physical channel");
        }
    }

    private static String name(JsonNode config) throws BadRequest {
        return Json.text(Json.field(config, "recovery"));
    }
}
