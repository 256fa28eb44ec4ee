package conformance.flink.pipeline;

import java.nio.ByteBuffer;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** A split, and how many of its records were emitted. */
record Split(int number, int offset) implements SourceSplit {

    @Override
    public String splitId() {
        return Integer.toString(number);
    }

    /** Says to the suite that a reader has it. */
    void sayIn(ArrayNode splits) {
        splits.addObject().put("split", number).put("offset", offset);
    }

    /** How splits are written, one, or those that nobody has. */
    static final class Serializer implements SimpleVersionedSerializer<Split> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Split split) {
            return ByteBuffer.allocate(2 * Integer.BYTES).putInt(split.number).putInt(split.offset).array();
        }

        @Override
        public Split deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new Split(buffer.getInt(), buffer.getInt());
        }
    }

    /** The same for the state of the enumerator. */
    static final class OfUnassigned implements SimpleVersionedSerializer<Split[]> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Split[] splits) {
            ByteBuffer buffer = ByteBuffer.allocate(2 * Integer.BYTES * splits.length);
            for (Split split : splits) {
                buffer.putInt(split.number).putInt(split.offset);
            }
            return buffer.array();
        }

        @Override
        public Split[] deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            Split[] splits = new Split[bytes.length / (2 * Integer.BYTES)];
            for (int at = 0; at < splits.length; at++) {
                splits[at] = new Split(buffer.getInt(), buffer.getInt());
            }
            return splits;
        }
    }
}
