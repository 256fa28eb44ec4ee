package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import conformance.flink.Errors;
import conformance.flink.Features;
import conformance.flink.FilterSubject;
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
    private static final String FILTER = "filter";

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
        return Features.capabilities();
    }

    @Override
    public ArrayNode components() {
        return Json.array().add(ASSIGNMENT).add(FILTER);
    }

    @Override
    public Subject open(String component, JsonNode config) throws BadRequest {
        switch (component) {
            case ASSIGNMENT:
                Json.only(config, AssignmentSubject.FIELDS);
                return new AssignmentSubject(config);
            case FILTER:
                Json.only(config, FilterSubject.FIELDS);
                return new FilterSubject(config);
            default:
                throw new BadRequest("unknown component \"" + component + "\"");
        }
    }

    @Override
    public ObjectNode describe(Throwable thrown) {
        return Errors.describe(thrown);
    }
}
