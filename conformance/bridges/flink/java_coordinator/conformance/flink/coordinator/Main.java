package conformance.flink.coordinator;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import conformance.flink.Offer;
import conformance.flink.Program;
import conformance.flink.Subject;
import java.io.IOException;
import java.util.NoSuchElementException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The operator coordinators of a released Flink. */
public final class Main implements Offer {

    private static final String COMPONENT = "coordinator";

    private Main() {}

    public static void main(String[] unused) throws IOException {
        Program.serve(new Main());
    }

    @Override
    public String name() {
        return "flink-coordinator";
    }

    @Override
    public ArrayNode capabilities() {
        // Since FLINK-26029 each subtask has a gateway of its own, which is opened by the subtask. Nothing of the other
        // half, FLINK-28639, is in any release. The adapter itself counts the futures.
        return Json.array().add("down-gate").add("resources");
    }

    @Override
    public ArrayNode components() {
        return Json.array().add(COMPONENT);
    }

    @Override
    public Subject open(String component, JsonNode config) throws BadRequest {
        if (!component.equals(COMPONENT)) {
            throw new BadRequest("unknown component \"" + component + "\"");
        }
        return new CoordinatorSubject(config);
    }

    @Override
    public ObjectNode describe(Throwable thrown) {
        // NoSuchElementException: nothing is queued or on its way, so the operation is not possible now.
        boolean definite = thrown instanceof EscapedFromTurn || thrown instanceof NoSuchElementException;
        return Json.object()
                .put("kind", definite ? "state" : "crashed")
                .put("reason", thrown instanceof EscapedFromTurn ? thrown.getMessage() : thrown.toString());
    }
}
