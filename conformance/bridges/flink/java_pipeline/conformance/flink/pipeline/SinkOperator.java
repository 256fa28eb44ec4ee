package conformance.flink.pipeline;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Writes records in transactions: each is prepared in the snapshot, and committed when its checkpoint or a later one is
 * complete, or when it is restored. The names have the subtask and the checkpoint, which a sink of Flink's does not know.
 */
final class SinkOperator extends TaskOperator
        implements OneInputStreamOperator<byte[], byte[]>, BoundedOneInput {

    private static final long serialVersionUID = 1L;

    /** A transaction that is prepared. */
    private record Prepared(int subtask, long checkpoint, int[] records) {

        byte[] bytes() {
            ByteBuffer buffer = ByteBuffer.allocate(Integer.BYTES * (1 + records.length) + Long.BYTES);
            buffer.putInt(subtask).putLong(checkpoint);
            buffer.asIntBuffer().put(records);
            return buffer.array();
        }

        static Prepared of(byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            int subtask = buffer.getInt();
            long checkpoint = buffer.getLong();
            int[] records = new int[buffer.remaining() / Integer.BYTES];
            buffer.asIntBuffer().get(records);
            return new Prepared(subtask, checkpoint, records);
        }
    }

    private transient OwnSink own; // the user's, which does all this; null: there is none
    private transient ListState<byte[]> kept;
    private transient List<Integer> written;
    private transient List<Prepared> prepared; // the adapter reads it, too
    private transient volatile long watermark;

    SinkOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        written = new ArrayList<>();
        prepared = new ArrayList<>();
        watermark = 0;
        kept =
                context.getOperatorStateStore()
                        .getListState(
                                new ListStateDescriptor<>(
                                        "prepared", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
        if (OwnSink.IS_THERE) {
            long restored = context.getRestoredCheckpointId().orElse(0);
            own = new OwnSink(getRuntimeContext(), restored, kept.get(), this::commit);
            return;
        }
        for (byte[] bytes : kept.get()) {
            prepared.add(Prepared.of(bytes));
        }
    }

    private void commit(int by, long checkpoint, int[] records) {
        live.commit(new World.Name(vertex(), by, checkpoint), records);
    }

    @Override
    public void open() throws Exception {
        super.open();
        live.opened(task, this);
        commit(Long.MAX_VALUE);
    }

    @Override
    public void processElement(StreamRecord<byte[]> record) throws Exception {
        int number = Records.whole(record.getValue());
        if (own != null) {
            own.write(number);
        } else {
            written.add(number);
        }
        done();
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        super.processWatermark(mark);
        watermark = mark.getTimestamp();
        live.progress.incrementAndGet();
    }

    @Override
    public void endInput() throws Exception {
        if (own != null) {
            own.end();
        }
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        if (own != null) {
            own.prepare(checkpoint);
        }
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        if (own != null) {
            kept.update(own.state());
            return;
        }
        synchronized (this) {
            if (!written.isEmpty()) {
                int[] records = written.stream().mapToInt(Integer::intValue).toArray();
                prepared.add(new Prepared(subtask(), context.getCheckpointId(), records));
                written.clear();
            }
        }
        List<byte[]> state = new ArrayList<>();
        prepared.forEach(one -> state.add(one.bytes()));
        kept.update(state);
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) throws Exception {
        super.notifyCheckpointComplete(checkpoint);
        commit(checkpoint);
    }

    private synchronized void commit(long checkpoint) throws Exception {
        if (own != null) {
            if (own.owes(checkpoint)) {
                live.failures.here("commit");
            }
            own.commit(checkpoint);
            return;
        }
        for (Iterator<Prepared> left = prepared.iterator(); left.hasNext(); ) {
            Prepared one = left.next();
            if (one.checkpoint <= checkpoint) {
                live.failures.here("commit");
                commit(one.subtask, one.checkpoint, one.records);
                left.remove();
            }
        }
    }

    long watermark() {
        return watermark;
    }

    /** Whether something is not committed although a checkpoint is complete. */
    synchronized boolean owes(long completed) {
        return own != null ? own.owes(completed) : prepared.stream().anyMatch(one -> one.checkpoint <= completed);
    }

    @Override
    public void close() throws Exception {
        if (live != null) {
            live.closed(task, this);
        }
        if (own != null) {
            own.close();
        }
        super.close();
    }
}
