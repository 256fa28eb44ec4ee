package conformance.flink;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.runtime.io.network.partition.PrioritizedDeque;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** Flink's {@link PrioritizedDeque}. */
final class DequeSubject implements Subject {

    /** Items with one label are equal, so that a deque that compares with {@code equals} returns wrong results. */
    private static final class Item {
        private final int handle;
        private final int label;

        private Item(int handle, int label) {
            this.handle = handle;
            this.label = label;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Item && ((Item) other).label == label;
        }

        @Override
        public int hashCode() {
            return label;
        }
    }

    private final PrioritizedDeque<Item> deque = new PrioritizedDeque<>();
    private final Map<Integer, Item> items = new HashMap<>();

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "add":
                deque.add(made(arguments.node(0)));
                return null;
            case "add_priority":
                deque.addPriorityElement(made(arguments.node(0)));
                return null;
            case "prioritize":
                deque.prioritize(named(arguments));
                return null;
            case "remove":
                Item meant = named(arguments);
                deque.getAndRemove(item -> item == meant);
                return null;
            case "poll":
                Item head = deque.poll();
                return head == null ? null : head.handle;
            case "contains_priority":
                return deque.containsPriorityElement(named(arguments));
            case "count_priority":
                return deque.getNumPriorityElements();
            case "items":
                ArrayNode handles = Json.array();
                deque.forEach(item -> handles.add(item.handle));
                return handles;
            case "resources":
                return Json.object().put("segments", 0);
            case "release":
                deque.clear();
                return null;
            default:
                throw new BadRequest("a deque has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return null;
    }

    private Item made(JsonNode description) throws BadRequest {
        Item item =
                new Item(
                        (int) Json.number(Json.field(description, "handle")),
                        (int) Json.number(Json.field(description, "label")));
        items.put(item.handle, item);
        return item;
    }

    private Item named(Arguments arguments) throws BadRequest {
        Item item = items.get((int) arguments.number(0));
        if (item == null) {
            throw new BadRequest("no item has the handle " + arguments.node(0));
        }
        return item;
    }
}
