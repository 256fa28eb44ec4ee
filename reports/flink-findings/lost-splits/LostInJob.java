import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A whole job on Flink's mini cluster. The enumerator of its source assigns splits while the job runs, a few at a time;
 * a split is one number, which its reader emits after 2 ms of work. A reader fails eight times. The last operator keeps
 * which numbers have come.
 *
 * <p>Exit status 1: splits were lost, although the job has finished. 0: none was. With the argument "control"
 * checkpoints are aligned; without it they are unaligned at once, which is what enabling them means by default.
 */
public final class LostInJob {

    private static final int SPLITS = 3000;
    private static final int SPLITS_AT_ONCE = 2;
    private static final int FAILURES = 8;
    private static final int CHECKPOINTS_BETWEEN_FAILURES = 10;
    private static final AtomicInteger COMPLETED = new AtomicInteger();
    private static final AtomicInteger FAILED = new AtomicInteger();
    private static volatile BitSet came = new BitSet();
    private static volatile boolean twice;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        Configuration cluster = new Configuration();
        cluster.setString("taskmanager.memory.network.min", "16mb");
        cluster.setString("taskmanager.memory.network.max", "16mb");
        cluster.setString("taskmanager.memory.managed.size", "32mb");
        cluster.setString("rest.port", "0");
        cluster.setString("rest.bind-port", "0");
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(cluster)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(4)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph job = job(isControl, Files.createTempDirectory("checkpoints").toFile());
            flink.submitJob(job).get();
            JobResult result = flink.requestJobResult(job.getJobID()).get(180, TimeUnit.SECONDS);
            System.out.println("the job: " + (result.isSuccess() ? "finished" : result.getSerializedThrowable()));
        }
        System.out.println("failures of a reader: " + FAILED.get());
        int lost = SPLITS - came.cardinality();
        System.out.println(twice ? "splits came twice" : "no split came twice");
        System.out.println(lost == 0 ? "no split was lost" : "LOST: " + lost + " of " + SPLITS);
        System.exit(lost == 0 ? 0 : 1);
    }

    private static JobGraph job(boolean isAligned, File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "10 ms");
        // After a failover a checkpoint may not complete until it expires, which is another finding.
        settings.setString("execution.checkpointing.timeout", "2 s");
        settings.setString("execution.checkpointing.unaligned.enabled", String.valueOf(!isAligned));
        settings.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000000");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "1000");
        settings.setString("restart-strategy.fixed-delay.delay", "1 ms");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment
                .fromSource(new Numbers(), WatermarkStrategy.noWatermarks(), "numbers", Types.INT)
                .uid("numbers")
                .setParallelism(2)
                .rebalance()
                .map(new Keep())
                .returns(Types.INT)
                .uid("keep")
                .setParallelism(1)
                .sinkTo(new DiscardingSink<>())
                .uid("sink")
                .setParallelism(1);
        return environment.getStreamGraph().getJobGraph();
    }

    /** Keeps which numbers have come. */
    private static final class Keep extends RichMapFunction<Integer, Integer> implements CheckpointedFunction {

        private static final long serialVersionUID = 1L;

        private transient ListState<long[]> stored;
        private transient BitSet numbers;

        @Override
        public Integer map(Integer number) {
            twice |= numbers.get(number);
            numbers.set(number);
            return number;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            stored.update(List.of(numbers.toLongArray()));
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            stored = context.getOperatorStateStore()
                    .getListState(new ListStateDescriptor<>("numbers", long[].class));
            numbers = new BitSet();
            for (long[] one : stored.get()) {
                numbers.or(BitSet.valueOf(one));
            }
        }

        @Override
        public void close() {
            if (numbers != null) {
                came = numbers;
            }
        }
    }

    private record Number(int number) implements SourceSplit {
        @Override
        public String splitId() {
            return String.valueOf(number);
        }
    }

    /** The state of the enumerator: the next number, and the numbers that were given back. */
    private record Left(int next, int[] back) {}

    private static final class Numbers implements Source<Integer, Number, Left> {

        private static final long serialVersionUID = 1L;

        @Override
        public Boundedness getBoundedness() {
            return Boundedness.CONTINUOUS_UNBOUNDED;
        }

        @Override
        public SourceReader<Integer, Number> createReader(SourceReaderContext context) {
            return new Reader(context);
        }

        @Override
        public SplitEnumerator<Number, Left> createEnumerator(SplitEnumeratorContext<Number> context) {
            return new Enumerator(context, new Left(0, new int[0]));
        }

        @Override
        public SplitEnumerator<Number, Left> restoreEnumerator(SplitEnumeratorContext<Number> context, Left left) {
            return new Enumerator(context, left);
        }

        @Override
        public SimpleVersionedSerializer<Number> getSplitSerializer() {
            return new Integers<>() {
                @Override
                int[] numbers(Number split) {
                    return new int[] {split.number};
                }

                @Override
                Number of(int[] numbers) {
                    return new Number(numbers[0]);
                }
            };
        }

        @Override
        public SimpleVersionedSerializer<Left> getEnumeratorCheckpointSerializer() {
            return new Integers<>() {
                @Override
                int[] numbers(Left left) {
                    int[] all = Arrays.copyOf(left.back, left.back.length + 1);
                    all[left.back.length] = left.next;
                    return all;
                }

                @Override
                Left of(int[] numbers) {
                    return new Left(numbers[numbers.length - 1], Arrays.copyOf(numbers, numbers.length - 1));
                }
            };
        }
    }

    private abstract static class Integers<T> implements SimpleVersionedSerializer<T> {

        abstract int[] numbers(T value);

        abstract T of(int[] numbers);

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream data = new DataOutputStream(bytes);
            for (int number : numbers(value)) {
                data.writeInt(number);
            }
            return bytes.toByteArray();
        }

        @Override
        public T deserialize(int version, byte[] serialized) throws IOException {
            int[] numbers = new int[serialized.length / Integer.BYTES];
            DataInputStream data = new DataInputStream(new ByteArrayInputStream(serialized));
            for (int at = 0; at < numbers.length; at++) {
                numbers[at] = data.readInt();
            }
            return of(numbers);
        }
    }

    /** Assigns some splits to each reader, every five milliseconds, which is a little less than the readers can do. */
    private static final class Enumerator implements SplitEnumerator<Number, Left> {

        private final SplitEnumeratorContext<Number> context;
        private final Queue<Integer> back = new ArrayDeque<>();
        private int next;

        Enumerator(SplitEnumeratorContext<Number> context, Left left) {
            this.context = context;
            next = left.next;
            Arrays.stream(left.back).forEach(back::add);
        }

        @Override
        public void start() {
            context.callAsync(() -> true, (ignored, error) -> assign(), 5, 5);
        }

        private void assign() {
            for (int reader : context.registeredReaders().keySet()) {
                for (int one = 0; one < SPLITS_AT_ONCE; one++) {
                    if (!back.isEmpty()) {
                        context.assignSplit(new Number(back.remove()), reader);
                    } else if (next < SPLITS) {
                        context.assignSplit(new Number(next++), reader);
                    } else {
                        context.signalNoMoreSplits(reader);
                    }
                }
            }
        }

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<Number> splits, int subtask) {
            splits.forEach(split -> back.add(split.number));
        }

        @Override
        public void addReader(int subtask) {}

        @Override
        public Left snapshotState(long checkpoint) {
            return new Left(next, back.stream().mapToInt(Integer::intValue).toArray());
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            COMPLETED.incrementAndGet();
        }

        @Override
        public void close() {}
    }

    private static final class Reader implements SourceReader<Integer, Number>, CheckpointListener {

        private final int subtask;
        private final Queue<Number> splits = new ArrayDeque<>();
        private CompletableFuture<Void> available = new CompletableFuture<>();
        private boolean isLast;

        Reader(SourceReaderContext context) {
            subtask = context.getIndexOfSubtask();
        }

        @Override
        public void start() {}

        @Override
        public InputStatus pollNext(ReaderOutput<Integer> output) throws Exception {
            int failures = FAILED.get();
            if (subtask == 0 && failures < FAILURES && COMPLETED.get() >= CHECKPOINTS_BETWEEN_FAILURES) {
                COMPLETED.set(0);
                FAILED.incrementAndGet();
                throw new Exception("failure " + (failures + 1) + ", as planned");
            }
            if (splits.isEmpty()) {
                if (isLast) {
                    return InputStatus.END_OF_INPUT;
                }
                available = new CompletableFuture<>();
                return InputStatus.NOTHING_AVAILABLE;
            }
            Thread.sleep(2);
            output.collect(splits.remove().number);
            return InputStatus.MORE_AVAILABLE;
        }

        @Override
        public List<Number> snapshotState(long checkpoint) {
            return new ArrayList<>(splits);
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public void addSplits(List<Number> assigned) {
            splits.addAll(assigned);
            available.complete(null);
        }

        @Override
        public void notifyNoMoreSplits() {
            isLast = true;
            available.complete(null);
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {}

        @Override
        public void close() {}
    }
}
