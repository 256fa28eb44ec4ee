package conformance.flink;

import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** The objects of Flink that can be put under test, by the names of the ports. */
enum Components {
    DEQUE("deque", config -> new DequeSubject()),
    SUBPARTITION(
            "subpartition",
            config -> new SubpartitionSubject((int) Json.number(Json.field(config, "exclusive_buffers")))),
    PERSISTER("persister", config -> new PersisterSubject()),
    RECOVERED_CHANNEL("recovered-channel", RecoveredChannelSubject::new),
    LOCAL_CHANNEL("local-channel", LocalChannelSubject::new),
    REMOTE_CHANNEL("remote-channel", RemoteChannelSubject::new),
    GATE("gate", GateSubject::new),
    UNION_GATE("union-gate", UnionGateSubject::new);

    private interface Factory {
        Subject make(JsonNode config) throws BadRequest, IOException;
    }

    private final String component;
    private final Factory factory;

    Components(String component, Factory factory) {
        this.component = component;
        this.factory = factory;
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
                try {
                    return one.factory.make(config);
                } catch (RuntimeException | IOException refused) {
                    throw new BadRequest("Flink does not accept the configuration " + config + ": " + refused);
                }
            }
        }
        throw new BadRequest("unknown component \"" + component + "\"");
    }
}
