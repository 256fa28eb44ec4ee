package conformance.flink.pipeline;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * A two-phase sink of the user's in the place of the suite's: writer and committer of one subtask, which are called in
 * the order in which Flink's operators call them. All but {@code owes} is called by the thread of the task.
 */
final class OwnSink {

    private static final String NAME = System.getProperty("conformance.sink", "");
    static final boolean IS_THERE = !NAME.isEmpty();

    private static final SinkWriter.Context NO_TIME =
            new SinkWriter.Context() {
                @Override
                public long currentWatermark() {
                    return Long.MIN_VALUE;
                }

                @Override
                public Long timestamp() {
                    return null;
                }
            };

    /** Committables of one subtask and checkpoint are a transaction. */
    private record Transaction(int subtask, long checkpoint) {}

    /** Makes what has become visible an output of the job, under the name of a transaction. */
    interface Output {
        void commit(int subtask, long checkpoint, int[] records) throws Exception;
    }

    private final int subtask;
    private final Output output;
    private final List<Integer> visible = new ArrayList<>();
    private final Map<Transaction, List<Object>> prepared = new LinkedHashMap<>(); // the adapter reads it, too
    private final CommittingSinkWriter<Integer, Object> writer;
    private final Committer<Object> committer;
    private final SimpleVersionedSerializer<Object> serializer;
    private long last; // the checkpoint that was prepared last

    /** @param restored the checkpoint; 0: none. {@code state}: what {@code state} returned for it, of some subtasks */
    @SuppressWarnings("unchecked")
    OwnSink(RuntimeContext context, long restored, Iterable<byte[]> state, Output output) throws Exception {
        this.output = output;
        subtask = context.getTaskInfo().getIndexOfThisSubtask();
        last = restored;
        Object sink = make(visible::addAll);
        writer = (CommittingSinkWriter<Integer, Object>)
                ((Sink<Integer>) sink).createWriter(context(WriterInitContext.class, context, restored));
        SupportsCommitter<Object> second = (SupportsCommitter<Object>) sink;
        committer = second.createCommitter(context(CommitterInitContext.class, context, restored));
        serializer = second.getCommittableSerializer();
        for (byte[] bytes : state) {
            restore(bytes);
        }
    }

    private static Object make(Consumer<Collection<Integer>> visible) {
        try {
            Object sink = Class.forName(NAME).getConstructor(Consumer.class).newInstance(visible);
            if (sink instanceof Sink && sink instanceof SupportsCommitter) {
                return sink;
            }
            throw new IllegalStateException(NAME + " must be a Sink and a SupportsCommitter");
        } catch (InvocationTargetException thrown) {
            throw new IllegalStateException(NAME + " cannot be made", thrown.getCause());
        } catch (ReflectiveOperationException wrong) {
            throw new IllegalStateException(
                    NAME + " must be a public class with a public constructor (Consumer) on the class path", wrong);
        }
    }

    /** Says which subtask it is, and what was restored. */
    private static <T> T context(Class<T> kind, RuntimeContext context, long restored) {
        InvocationHandler answers =
                (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "getTaskInfo":
                            return context.getTaskInfo();
                        case "getJobInfo":
                            return context.getJobInfo();
                        case "getRestoredCheckpointId":
                            return restored > 0 ? OptionalLong.of(restored) : OptionalLong.empty();
                        case "isObjectReuseEnabled":
                            return false;
                        default:
                            throw new UnsupportedOperationException("there is no " + method.getName() + " here");
                    }
                };
        return kind.cast(Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, answers));
    }

    void write(int record) throws Exception {
        writer.write(record, NO_TIME);
        seen(subtask, last + 1); // nothing, if it waits for its checkpoint
    }

    /** No record follows. What the writer still has is prepared for the last checkpoint. */
    void end() throws Exception {
        writer.flush(true);
        seen(subtask, last + 1);
    }

    /** In front of the barrier. */
    synchronized void prepare(long checkpoint) throws Exception {
        last = checkpoint;
        writer.flush(false);
        List<Object> committables = new ArrayList<>(writer.prepareCommit());
        if (!committables.isEmpty()) {
            prepared.put(new Transaction(subtask, checkpoint), committables);
        }
        seen(subtask, checkpoint);
    }

    /** Commits what was prepared for this checkpoint, and for older ones. */
    synchronized void commit(long checkpoint) throws Exception {
        for (Iterator<Map.Entry<Transaction, List<Object>>> left = prepared.entrySet().iterator(); left.hasNext(); ) {
            Map.Entry<Transaction, List<Object>> one = left.next();
            Transaction name = one.getKey();
            if (name.checkpoint <= checkpoint) {
                List<Committer.CommitRequest<Object>> requests = new ArrayList<>();
                one.getValue().forEach(committable -> requests.add(new Request(committable)));
                committer.commit(requests);
                seen(name.subtask, name.checkpoint);
                one.setValue(new ArrayList<>());
                for (Committer.CommitRequest<Object> request : requests) {
                    if (((Request) request).again) {
                        one.getValue().add(request.getCommittable());
                    }
                }
                if (one.getValue().isEmpty()) {
                    left.remove();
                }
            }
        }
    }

    private void seen(int by, long checkpoint) throws Exception {
        if (!visible.isEmpty()) {
            int[] records = visible.stream().mapToInt(Integer::intValue).toArray();
            visible.clear();
            output.commit(by, checkpoint, records);
        }
    }

    /** Whether something is not committed although a checkpoint is complete. */
    synchronized boolean owes(long completed) {
        return prepared.keySet().stream().anyMatch(one -> one.checkpoint <= completed);
    }

    /** What must be kept: each transaction that is not committed. */
    List<byte[]> state() throws IOException {
        List<byte[]> state = new ArrayList<>();
        for (Map.Entry<Transaction, List<Object>> one : prepared.entrySet()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(one.getKey().subtask);
            out.writeLong(one.getKey().checkpoint);
            out.writeInt(serializer.getVersion());
            out.writeInt(one.getValue().size());
            for (Object committable : one.getValue()) {
                byte[] written = serializer.serialize(committable);
                out.writeInt(written.length);
                out.write(written);
            }
            state.add(bytes.toByteArray());
        }
        return state;
    }

    private void restore(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        Transaction name = new Transaction(in.readInt(), in.readLong());
        int version = in.readInt();
        List<Object> committables = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            committables.add(serializer.deserialize(version, in.readNBytes(in.readInt())));
        }
        prepared.put(name, committables);
    }

    void close() throws Exception {
        writer.close();
        committer.close();
    }

    /** A committable, and what the committer says of it. */
    private static final class Request implements Committer.CommitRequest<Object> {

        private Object committable;
        private boolean again;

        private Request(Object committable) {
            this.committable = committable;
        }

        @Override
        public Object getCommittable() {
            return committable;
        }

        @Override
        public int getNumberOfRetries() {
            return 0;
        }

        @Override
        public void signalFailedWithKnownReason(Throwable known) {}

        @Override
        public void signalFailedWithUnknownReason(Throwable unknown) {
            throw new IllegalStateException("a commit has failed", unknown);
        }

        @Override
        public void retryLater() {
            again = true;
        }

        @Override
        public void updateAndRetryLater(Object other) {
            committable = other;
            again = true;
        }

        @Override
        public void signalAlreadyCommitted() {}
    }
}
