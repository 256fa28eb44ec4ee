package conformance.flink;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** What a program offers to the suite. */
public interface Offer {

    String name();

    ArrayNode capabilities();

    /** The names of the components. */
    ArrayNode components();

    /** Makes a fresh object under test. */
    Subject open(String component, JsonNode config) throws BadRequest;

    /** The error of the port for what an operation threw. */
    ObjectNode describe(Throwable thrown);
}
