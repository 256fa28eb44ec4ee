package conformance.flink.coordinator;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** An event or a report of the user. It carries nothing but its identity. */
final class Message implements OperatorEvent {

    private static final long serialVersionUID = 1L;

    final int subtask;
    final int attempt;
    final int number;

    Message(int subtask, int attempt, int number) {
        this.subtask = subtask;
        this.attempt = attempt;
        this.number = number;
    }

    static Message parse(JsonNode node) throws BadRequest {
        Json.only(node, "subtask", "attempt", "number");
        return new Message(
                (int) Json.number(Json.field(node, "subtask")),
                (int) Json.number(Json.field(node, "attempt")),
                (int) Json.number(Json.field(node, "number")));
    }

    ObjectNode json() {
        return Json.object().put("subtask", subtask).put("attempt", attempt).put("number", number);
    }

    @Override
    public String toString() {
        return "message " + number + " of subtask " + subtask + " (attempt " + attempt + ")";
    }
}
