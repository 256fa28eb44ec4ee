package conformance.flink;

import conformance.flink.rescaling.AssignmentSubject;
import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** The classes of Flink that can be tested, by the names of their components. */
enum Components {
    DEQUE("deque", config -> new DequeSubject()),
    SUBPARTITION(
            "subpartition",
            config -> new SubpartitionSubject((int) Json.number(Json.field(config, "exclusive_buffers"))),
            "exclusive_buffers"),
    PERSISTER("persister", config -> new PersisterSubject()),
    RECOVERED_CHANNEL(
            "recovered-channel",
            RecoveredChannelSubject::new,
            "recovery",
            "handed_over",
            "exclusive_buffers",
            "floating_buffers",
            "first_number"),
    LOCAL_CHANNEL(
            "local-channel",
            LocalChannelSubject::new,
            "recovery",
            "handed_over",
            "exclusive_buffers",
            "floating_buffers",
            "first_number"),
    REMOTE_CHANNEL(
            "remote-channel",
            RemoteChannelSubject::new,
            "recovery",
            "handed_over",
            "exclusive_buffers",
            "floating_buffers",
            "first_number"),
    GATE(
            "gate",
            config -> Json.field(config, "gates").size() == 1 ? new GateSubject(config) : new UnionGateSubject(config),
            "gates",
            "recovery",
            "exclusive_buffers",
            "floating_buffers"),
    BARRIER_HANDLER(
            "barrier-handler", BarrierHandlerSubject::new, "channels", "timeout", "alternating", "counts_ends"),
    WRITER("writer", WriterSubject::new, "subtasks", "sharing", "max_results", "files"),
    SUBTASK_CHECKPOINT("subtask-checkpoint", SubtaskCheckpointSubject::new, "timeout"),
    CONSUMER_LOOP("consumer-loop", ConsumerLoopSubject::new, "channels", "timeout", "alternating", "counts_ends"),
    TASK_RESTORE(
            "task-restore",
            TaskRestoreSubject::new,
            "gates",
            "input_state",
            "output_state",
            "recovery",
            "unaligned",
            "output_on_downstream",
            "during_recovery",
            "spill_directories",
            "buffers"),
    ASSIGNMENT("assignment", AssignmentSubject::new, AssignmentSubject.FIELDS),
    FILTER("filter", FilterSubject::new, FilterSubject.FIELDS);

    private interface Factory {
        Subject make(JsonNode config) throws BadRequest, IOException;
    }

    private final String component;
    private final Factory factory;
    private final String[] fields; // of the configuration

    Components(String component, Factory factory, String... fields) {
        this.component = component;
        this.factory = factory;
        this.fields = fields;
    }

    static ArrayNode names() {
        ArrayNode names = Json.array();
        for (Components one : values()) {
            names.add(one.component);
        }
        return names;
    }

    static Subject open(String component, JsonNode config) throws BadRequest {
        for (Components one : values()) {
            if (one.component.equals(component)) {
                Json.only(config, one.fields);
                try {
                    return one.factory.make(config);
                } catch (RuntimeException | IOException refused) {
                    Unusable.rethrow(refused);
                    throw new BadRequest("Flink does not accept the configuration " + config + ": " + refused);
                }
            }
        }
        throw new BadRequest("unknown component \"" + component + "\"");
    }
}
