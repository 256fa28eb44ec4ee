package conformance.flink;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The signals that the object under test emitted since the last outcome. */
final class Signals {

    private ArrayNode told;

    void add(ObjectNode signal) {
        if (told == null) {
            told = Json.array();
        }
        told.add(signal);
    }

    void dataAvailable() {
        add(Json.tagged("data-available"));
    }

    void priorityAvailable(int sequenceNumber) {
        add(Json.tagged("priority-available").put("seq", sequenceNumber));
    }

    void stateConsumed(int channel) {
        add(Json.tagged("state-consumed").put("channel", channel));
    }

    void faultStruck(String place, String kind) {
        add(Json.tagged("fault-struck").put("place", place).put("kind", kind));
    }

    /** Returns the signals and forgets them; null if there were none. */
    ArrayNode take() {
        ArrayNode taken = told;
        told = null;
        return taken;
    }
}
