package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import conformance.flink.Errors;
import conformance.flink.Json;
import conformance.flink.Offer;
import conformance.flink.Program;
import conformance.flink.Subject;
import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** What belongs to a change of parallelism, of a release whose network stack the suite does not fit. */
public final class Main implements Offer {

    private static final String ASSIGNMENT = "assignment";

    private Main() {}

    public static void main(String[] unused) throws IOException {
        Program.serve(new Main());
    }

    @Override
    public String name() {
        return "flink-component";
    }

    @Override
    public ArrayNode capabilities() {
        ArrayNode found = Json.array().add("resources").add("output-recovered-upstream").add("rescales-forced-edges");
        if (AssignmentSubject.CAN_RECOVER_ON_DOWNSTREAM) {
            found.add("output-recovered-downstream");
        }
        return found;
    }

    @Override
    public ArrayNode components() {
        return Json.array().add(ASSIGNMENT);
    }

    @Override
    public Subject open(String component, JsonNode config) throws BadRequest {
        if (!component.equals(ASSIGNMENT)) {
            throw new BadRequest("unknown component \"" + component + "\"");
        }
        Json.only(config, "vertices", "edges", "output_on_downstream");
        return new AssignmentSubject(config);
    }

    @Override
    public ObjectNode describe(Throwable thrown) {
        return Errors.describe(thrown);
    }
}
