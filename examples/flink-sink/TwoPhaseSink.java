import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Prepares records at a checkpoint, and makes them visible once it is complete. */
public class TwoPhaseSink implements Sink<Integer>, SupportsCommitter<List<Integer>> {

    private static final long serialVersionUID = 1L;

    private final transient Consumer<Collection<Integer>> output;

    /** What is passed to {@code output} is visible to whoever reads the output. */
    public TwoPhaseSink(Consumer<Collection<Integer>> output) {
        this.output = output;
    }

    @Override
    public CommittingSinkWriter<Integer, List<Integer>> createWriter(WriterInitContext context) {
        return new Writer();
    }

    @Override
    public Committer<List<Integer>> createCommitter(CommitterInitContext context) {
        return new Committer<>() {
            @Override
            public void commit(Collection<CommitRequest<List<Integer>>> requests) {
                requests.forEach(request -> output.accept(request.getCommittable()));
            }

            @Override
            public void close() {}
        };
    }

    private final class Writer implements CommittingSinkWriter<Integer, List<Integer>> {

        private List<Integer> written = new ArrayList<>();

        @Override
        public void write(Integer record, Context context) {
            written.add(record);
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public Collection<List<Integer>> prepareCommit() {
            List<Integer> prepared = written;
            written = new ArrayList<>();
            if (Boolean.getBoolean("early")) { // a bug to try: JAVA_TOOL_OPTIONS=-Dearly=true
                output.accept(prepared);
                return List.of();
            }
            return prepared.isEmpty() ? List.of() : List.of(prepared);
        }

        @Override
        public void close() {}
    }

    @Override
    public SimpleVersionedSerializer<List<Integer>> getCommittableSerializer() {
        return new SimpleVersionedSerializer<>() {
            @Override
            public int getVersion() {
                return 1;
            }

            @Override
            public byte[] serialize(List<Integer> records) {
                ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES * records.size());
                records.forEach(bytes::putInt);
                return bytes.array();
            }

            @Override
            public List<Integer> deserialize(int version, byte[] bytes) {
                List<Integer> records = new ArrayList<>();
                for (ByteBuffer left = ByteBuffer.wrap(bytes); left.hasRemaining(); ) {
                    records.add(left.getInt());
                }
                return records;
            }
        };
    }
}
