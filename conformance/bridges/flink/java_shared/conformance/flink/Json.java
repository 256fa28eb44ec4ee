package conformance.flink;

import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.DeserializationFeature;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Reads and writes JSON with the library that Flink ships, so that the adapter needs no other one. */
public final class Json {

    private static final ObjectMapper MAPPER =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private Json() {}

    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    public static ObjectNode tagged(String type) {
        return object().put("type", type);
    }

    public static ArrayNode array() {
        return MAPPER.createArrayNode();
    }

    public static ArrayNode array(Iterable<Integer> numbers) {
        ArrayNode array = array();
        numbers.forEach(array::add);
        return array;
    }

    public static JsonNode parse(String line) throws BadRequest {
        try {
            return MAPPER.readTree(line);
        } catch (JsonProcessingException error) {
            throw new BadRequest("not JSON: " + error.getOriginalMessage());
        }
    }

    public static String write(ObjectNode message) throws IOException {
        return MAPPER.writeValueAsString(message);
    }

    /** A required field. */
    public static JsonNode field(JsonNode object, String name) throws BadRequest {
        JsonNode found = object.get(name);
        if (found == null) {
            throw new BadRequest("there is no field \"" + name + "\" in " + object);
        }
        return found;
    }

    /** Refuses an object with other fields than these. */
    public static void only(JsonNode object, String... names) throws BadRequest {
        for (Iterator<String> found = object.fieldNames(); found.hasNext(); ) {
            String name = found.next();
            if (!Arrays.asList(names).contains(name)) {
                throw new BadRequest(
                        "unknown field \"" + name + "\" in " + object + ", known are " + Arrays.toString(names));
            }
        }
    }

    public static long number(JsonNode node) throws BadRequest {
        if (!node.isIntegralNumber()) {
            throw new BadRequest("expected a whole number, found " + node);
        }
        return node.longValue();
    }

    public static String text(JsonNode node) throws BadRequest {
        if (!node.isTextual()) {
            throw new BadRequest("expected a text, found " + node);
        }
        return node.textValue();
    }

    public static int[] ids(JsonNode node) throws BadRequest {
        if (!node.isArray()) {
            throw new BadRequest("expected a list of record ids, found " + node);
        }
        int[] ids = new int[node.size()];
        for (int index = 0; index < ids.length; index++) {
            ids[index] = (int) number(node.get(index));
        }
        return ids;
    }
}
