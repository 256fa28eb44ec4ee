package conformance.flink.job;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** How splits and the state of the enumerator are written. */
final class Serializers {

    private Serializers() {}

    private interface Writing {
        void to(DataOutputStream out) throws IOException;
    }

    private static byte[] bytes(Writing writing) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            writing.to(out);
        }
        return bytes.toByteArray();
    }

    private static DataInputStream input(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }

    static final class OfSplits implements SimpleVersionedSerializer<UnitSplit> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(UnitSplit split) throws IOException {
            return bytes(
                    out -> {
                        out.writeBoolean(split.state != null);
                        if (split.state == null) {
                            out.writeInt(split.unit);
                        } else {
                            split.state.write(out);
                        }
                    });
        }

        @Override
        public UnitSplit deserialize(int version, byte[] bytes) throws IOException {
            DataInputStream in = input(bytes);
            return in.readBoolean() ? new UnitSplit(ReaderState.read(in)) : new UnitSplit(in.readInt());
        }
    }

    static final class OfStates implements SimpleVersionedSerializer<EnumeratorState> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(EnumeratorState state) throws IOException {
            return bytes(state::write);
        }

        @Override
        public EnumeratorState deserialize(int version, byte[] bytes) throws IOException {
            return EnumeratorState.read(input(bytes));
        }
    }
}
