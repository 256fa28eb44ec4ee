package conformance.flink;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** The user's serializer of the records of a filter. Reading and writing can fail. */
final class ValueSerializer extends TypeSerializerSingleton<Framing.Value> {

    static final String READ = "record-read";
    static final String WRITE = "record-write";

    private static final long serialVersionUID = 1L;

    private final transient Faults faults;

    ValueSerializer(Faults faults) {
        this.faults = faults;
    }

    @Override
    public Framing.Value deserialize(DataInputView source) throws IOException {
        if (faults.strike(READ) != null) {
            throw Faults.failure(READ);
        }
        int id = source.readInt();
        int key = source.readInt();
        byte[] padding = new byte[source.readInt()];
        source.readFully(padding);
        return new Framing.Value(id, key, padding);
    }

    @Override
    public Framing.Value deserialize(Framing.Value reuse, DataInputView source) throws IOException {
        return deserialize(source);
    }

    @Override
    public void serialize(Framing.Value value, DataOutputView target) throws IOException {
        if (faults.strike(WRITE) != null) {
            throw Faults.failure(WRITE);
        }
        target.writeInt(value.id);
        target.writeInt(value.key);
        target.writeInt(value.padding.length);
        target.write(value.padding);
    }

    @Override
    public void copy(DataInputView source, DataOutputView target) throws IOException {
        serialize(deserialize(source), target);
    }

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public Framing.Value createInstance() {
        return new Framing.Value(0, 0, new byte[0]);
    }

    @Override
    public Framing.Value copy(Framing.Value from) {
        return from;
    }

    @Override
    public Framing.Value copy(Framing.Value from, Framing.Value reuse) {
        return from;
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public TypeSerializerSnapshot<Framing.Value> snapshotConfiguration() {
        throw new UnsupportedOperationException("no serializer is stored");
    }
}
