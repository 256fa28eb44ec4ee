package conformance.flink;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** One object under test, driven by calls. */
public interface Subject {

    /**
     * Performs one operation.
     *
     * @param arguments what came after the method name
     * @return the value as JSON; null stands for none
     * @throws BadRequest if there is no such method, or its arguments are not of its types
     * @throws Exception whatever Flink threw
     */
    Object call(String method, Arguments arguments) throws Exception;

    /** The signals emitted since this was asked last; null if there were none. */
    ArrayNode takeSignals();

    /**
     * Gives back what would outlive it, which are threads and files: the suite has dropped it without releasing it, as
     * after a violation. It is called in a thread of its own, for which nobody waits, so it may block; and nobody hears
     * what it throws or signals.
     */
    default void dropped() throws Exception {}

    /** The arguments of one call. */
    final class Arguments {

        private final JsonNode call;

        public Arguments(JsonNode call) {
            this.call = call;
        }

        public JsonNode node(int index) throws BadRequest {
            JsonNode node = call.get(index + 1); // the method name stands in front
            if (node == null) {
                throw new BadRequest("argument " + (index + 1) + " is missing in " + call);
            }
            return node;
        }

        /** Whether an operand that may be left out was given, and is not null. */
        public boolean has(int index) {
            return call.hasNonNull(index + 1);
        }

        public long number(int index) throws BadRequest {
            return Json.number(node(index));
        }

        /** A number that Flink stores as an int. */
        public int index(int index) throws BadRequest {
            return Math.toIntExact(number(index));
        }

        public boolean truth(int index) throws BadRequest {
            JsonNode node = node(index);
            if (!node.isBoolean()) {
                throw new BadRequest("expected true or false, found " + node);
            }
            return node.booleanValue();
        }

        public String text(int index) throws BadRequest {
            return Json.text(node(index));
        }
    }
}
