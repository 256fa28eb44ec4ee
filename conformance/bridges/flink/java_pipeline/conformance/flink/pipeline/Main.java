package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import conformance.flink.Errors;
import conformance.flink.Json;
import conformance.flink.Offer;
import conformance.flink.Program;
import conformance.flink.Subject;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Offers jobs of a release. Each object under test is a job of its own, on a cluster that outlives it. */
public final class Main implements Offer {

    private PipelineSubject last;

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        try {
            Program.serve(new Main());
        } catch (Throwable ended) {
            ended.printStackTrace();
            System.exit(1); // the threads of a cluster would go on
        }
    }

    @Override
    public String name() {
        return "flink-pipeline";
    }

    @Override
    public ArrayNode capabilities() {
        ArrayNode capabilities = Json.array().add("recover-first").add("output-recovered-upstream");
        if (Options.checkpointsDuringRecovery()) {
            capabilities.add("recover-in-memory");
        }
        return capabilities;
    }

    @Override
    public ArrayNode components() {
        return Json.array().add("pipeline");
    }

    @Override
    public Subject open(String component, JsonNode config) throws BadRequest {
        if (!component.equals("pipeline")) {
            throw new BadRequest("there is no component \"" + component + "\"");
        }
        if (last != null) {
            last.abandon();
        }
        last = new PipelineSubject(new JobPlan(config));
        return last;
    }

    @Override
    public ObjectNode describe(Throwable thrown) {
        return Errors.describe(thrown);
    }
}
