package conformance.flink;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The bytes of recovered elements: what conformance.ports.framing describes, to which Flink's serializers agree. */
final class Framing {

    static final int LENGTH = 4;

    private static final int TIMESTAMPED = 0;
    private static final int BARE = 1;
    private static final int WATERMARK = 2;
    private static final int LATENCY_MARKER = 3;
    private static final int STATUS = 4;
    private static final int ATTRIBUTES = 5;
    private static final int IDLE = -1;
    private static final int PERIOD = 251;
    private static final int VALUE = 12; // id, key, and how many bytes follow

    private Framing() {}

    static byte[] encode(JsonNode element) throws BadRequest {
        byte[] body = body(element);
        return ByteBuffer.allocate(LENGTH + body.length).putInt(body.length).put(body).array();
    }

    private static byte[] body(JsonNode element) throws BadRequest {
        String type = Json.text(Json.field(element, "type"));
        switch (type) {
            case "record":
                return record(element);
            case "watermark":
                return ByteBuffer.allocate(9).put((byte) WATERMARK).putLong(time(element)).array();
            case "latency-marker":
                return ByteBuffer.allocate(29).put((byte) LATENCY_MARKER).putLong(time(element)).array();
            case "status":
                boolean active = Json.field(element, "active").booleanValue();
                return ByteBuffer.allocate(5).put((byte) STATUS).putInt(active ? 0 : IDLE).array();
            case "attributes":
                return new byte[] {ATTRIBUTES, (byte) (Json.field(element, "backlog").booleanValue() ? 1 : 0)};
            default:
                throw new BadRequest("unknown element type \"" + type + "\"");
        }
    }

    private static byte[] record(JsonNode record) throws BadRequest {
        int length = (int) Json.number(Json.field(record, "size")) - LENGTH;
        ByteBuffer body = ByteBuffer.allocate(length);
        if (record.hasNonNull("timestamp")) {
            body.put((byte) TIMESTAMPED).putLong(Json.number(record.get("timestamp")));
        } else {
            body.put((byte) BARE);
        }
        Value value =
                new Value(
                        (int) Json.number(Json.field(record, "id")),
                        (int) Json.number(Json.field(record, "key")),
                        null);
        byte[] padding = padding(value.id, body.remaining() - VALUE);
        return body.putInt(value.id).putInt(value.key).putInt(padding.length).put(padding).array();
    }

    private static long time(JsonNode element) throws BadRequest {
        return Json.number(Json.field(element, "time"));
    }

    private static byte[] padding(int id, int length) {
        byte[] padding = new byte[length];
        for (int at = 0; at < length; at++) {
            padding[at] = (byte) ((id + at) % PERIOD * 89);
        }
        return padding;
    }

    /** A record of the user; its padding is what was read. */
    static ObjectNode record(Value value, Long timestamp) {
        int head = LENGTH + 1 + VALUE + (timestamp == null ? 0 : Long.BYTES);
        if (!Arrays.equals(value.padding, padding(value.id, value.padding.length))) {
            return null;
        }
        ObjectNode record = Json.tagged("record").put("id", value.id).put("key", value.key);
        record.put("size", head + value.padding.length);
        return timestamp == null ? record : record.put("timestamp", timestamp);
    }

    static ObjectNode watermark(long time) {
        return Json.tagged("watermark").put("time", time);
    }

    static ObjectNode status(boolean active) {
        return Json.tagged("status").put("active", active);
    }

    static ObjectNode latencyMarker(long time) {
        return Json.tagged("latency-marker").put("time", time);
    }

    static ObjectNode attributes(boolean backlog) {
        return Json.tagged("attributes").put("backlog", backlog);
    }

    static ObjectNode unreadable(long offset) {
        return Json.tagged("unreadable").put("offset", offset);
    }

    /** The element with this body; null if none has exactly these bytes. */
    private static ObjectNode decode(ByteBuffer body) {
        int tag = body.hasRemaining() ? body.get() : -1;
        int left = body.remaining();
        switch (tag) {
            case TIMESTAMPED:
                return left < Long.BYTES + VALUE ? null : decodeRecord(body.getLong(), body);
            case BARE:
                return left < VALUE ? null : decodeRecord(null, body);
            case WATERMARK:
                return left == 8 ? watermark(body.getLong()) : null;
            case LATENCY_MARKER:
                return left == 28 ? latencyMarker(body.getLong()) : null;
            case STATUS:
                int status = left == 4 ? body.getInt() : 1;
                return status == 0 || status == IDLE ? status(status == 0) : null;
            case ATTRIBUTES:
                return left == 1 ? attributes(body.get() != 0) : null;
            default:
                return null;
        }
    }

    private static ObjectNode decodeRecord(Long timestamp, ByteBuffer body) {
        int id = body.getInt();
        int key = body.getInt();
        int length = body.getInt();
        if (length != body.remaining()) {
            return null;
        }
        byte[] padding = new byte[length];
        body.get(padding);
        return record(new Value(id, key, padding), timestamp);
    }

    /** The value of a record. */
    static final class Value {

        final int id;
        final int key;
        final byte[] padding;

        Value(int id, int key, byte[] padding) {
            this.id = id;
            this.key = key;
            this.padding = padding;
        }
    }

    /** Reads the bytes of one channel, in pieces that end anywhere. After what is unreadable it reads nothing more. */
    static final class Decoder {

        private byte[] rest = new byte[0];
        private long before;
        private boolean isBroken;

        Decoder copy() {
            Decoder copy = new Decoder();
            copy.rest = rest;
            copy.before = before;
            copy.isBroken = isBroken;
            return copy;
        }

        /** The elements that end in the next piece. */
        ArrayNode read(byte[] piece) {
            ByteArrayOutputStream joined = new ByteArrayOutputStream();
            joined.writeBytes(rest);
            joined.writeBytes(piece);
            ByteBuffer bytes = ByteBuffer.wrap(joined.toByteArray());
            ArrayNode found = Json.array();
            while (!isBroken && bytes.remaining() >= LENGTH) {
                int start = bytes.position();
                int length = bytes.getInt();
                if (length > bytes.remaining()) {
                    bytes.position(start);
                    break;
                }
                ObjectNode element = decode(bytes.slice(bytes.position(), Math.max(length, 0)));
                isBroken = element == null;
                found.add(isBroken ? unreadable(before + start) : element);
                bytes.position(isBroken ? start : bytes.position() + length);
            }
            before += bytes.position();
            rest = Arrays.copyOfRange(bytes.array(), bytes.position(), bytes.limit());
            return found;
        }

        /** How many bytes were read of an element that has not ended. */
        int begun() {
            return isBroken ? 0 : rest.length;
        }
    }
}
