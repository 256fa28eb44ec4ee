package conformance.flink;

import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The components of the network stack of a released Flink. */
public final class Main implements Offer {

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
        return Components.names();
    }

    @Override
    public Subject open(String component, JsonNode config) throws BadRequest {
        return Components.open(component, config);
    }

    @Override
    public ObjectNode describe(Throwable thrown) {
        return Errors.describe(thrown);
    }
}
