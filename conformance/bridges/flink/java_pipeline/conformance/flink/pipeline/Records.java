package conformance.flink.pipeline;

import conformance.flink.Json;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** A record is its number and padding, so that many records begin in one buffer and end in the next. */
final class Records {

    static final int OF_A_SPLIT = 1_000_000;
    static final int KEYS = 11;

    private static final int LEAST_PADDING = 300;
    private static final int MORE_PADDING = 601;
    private static final int PRIME = 7919;

    private Records() {}

    static byte[] bytes(int record) {
        byte[] bytes = new byte[Integer.BYTES + LEAST_PADDING + (int) ((long) record * PRIME % MORE_PADDING)];
        Arrays.fill(bytes, (byte) record);
        ByteBuffer.wrap(bytes).putInt(0, record);
        return bytes;
    }

    static int number(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getInt(0);
    }

    /** The number of a record, each byte of which is looked at. */
    static int whole(byte[] bytes) {
        int number = number(bytes);
        if (number < 0 || !Arrays.equals(bytes, bytes(number))) {
            throw new IllegalStateException("a record is damaged that begins with the number " + number);
        }
        return number;
    }

    static int key(byte[] bytes) {
        return number(bytes) % KEYS;
    }

    /** Records as runs of neighbours, in this order. */
    static ArrayNode runs(int[] records) {
        ArrayNode runs = Json.array();
        for (int first = 0; first < records.length; ) {
            int next = first + 1;
            while (next < records.length && records[next] == records[next - 1] + 1) {
                next++;
            }
            runs.addObject().put("first", records[first]).put("last", records[next - 1]);
            first = next;
        }
        return runs;
    }
}
