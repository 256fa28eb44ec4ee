import java.io.File;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.accumulators.IntCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.operators.coordination.OperatorEventHandler;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.CoordinatedOperatorFactory;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * A whole job on Flink's mini cluster: numbers, and an operator with a coordinator, in a TaskManager each. The
 * coordinator numbers the events that it sends, and its state is how many it has sent. The state of the operator is
 * which it has received.
 *
 * <p>The TaskManager of the operator is slow to answer, since an accumulator takes long to serialize for its heartbeat.
 * The coordinator sends event 1. A savepoint begins, and fails since the enumerator of the source fails to take its
 * snapshot. Then a checkpoint is taken; no two are in progress at the same time. The TaskManager goes on, the job is
 * restored from the checkpoint, and the coordinator sends event 2.
 *
 * <p>Exit status 1: event 1 was lost. 0: it was not. With the argument "control" the enumerator does not fail.
 */
public final class LostInJob {

    private static final Semaphore READY = new Semaphore(0);
    private static final CountDownLatch TASK_MANAGER_IS_SLOW = new CountDownLatch(1);
    private static final CountDownLatch TASK_MANAGER_GOES_ON = new CountDownLatch(1);
    private static final CountDownLatch COORDINATOR_HAS_ITS_PART = new CountDownLatch(1);
    private static final CountDownLatch RECEIVED_AFTER_RESTORE = new CountDownLatch(1);
    private static volatile boolean isControl;
    private static volatile boolean isRunning;
    private static volatile Numbering coordinator;
    private static volatile List<Integer> received;

    public static void main(String[] arguments) throws Exception {
        isControl = arguments.length > 0 && arguments[0].equals("control");
        File folder = Files.createTempDirectory("checkpoints").toFile();
        Configuration cluster = new Configuration();
        cluster.setString("taskmanager.memory.network.min", "16mb");
        cluster.setString("taskmanager.memory.network.max", "16mb");
        cluster.setString("taskmanager.memory.managed.size", "32mb");
        cluster.setString("rest.port", "0");
        cluster.setString("rest.bind-port", "0");
        cluster.setString("heartbeat.interval", "200 ms");
        cluster.setString("pekko.ask.timeout", "60 s"); // however slow this machine is, no event fails
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(cluster)
                        .setNumTaskManagers(2)
                        .setNumSlotsPerTaskManager(1)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job(folder);
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            READY.acquire();
            awaitRunning(flink, job);
            isRunning = true;
            TASK_MANAGER_IS_SLOW.await();
            System.out.println("the TaskManager of the operator: slow");
            coordinator.send();
            System.out.println("the coordinator: sends event 1");
            CompletableFuture<String> savepoint =
                    flink.triggerSavepoint(job, folder.toURI() + "savepoints", false, SavepointFormatType.CANONICAL);
            if (!isControl) {
                System.out.println("a savepoint: " + savepoint.handle((path, error) -> message(error)).get());
            }
            CompletableFuture<String> checkpoint = flink.triggerCheckpoint(job);
            try {
                checkpoint.get(10, TimeUnit.SECONDS);
                System.out.println("a checkpoint: does not wait for event 1, and is complete");
            } catch (TimeoutException error) {
                System.out.println("a checkpoint: waits for event 1");
            }
            TASK_MANAGER_GOES_ON.countDown();
            System.out.println("the TaskManager of the operator: goes on");
            checkpoint.get(60, TimeUnit.SECONDS);
            coordinator.context.failJob(new Exception("a failure, as planned"));
            READY.acquire();
            coordinator.send();
            RECEIVED_AFTER_RESTORE.await();
            System.out.println("the job: restored from the checkpoint, and the operator has received " + received);
            flink.cancelJob(job).get();
        }
        boolean isLost = !received.contains(1);
        System.out.println(isLost ? "LOST: event 1 was lost" : "no event was lost");
        System.exit(isLost ? 1 : 0);
    }

    private static String message(Throwable error) {
        return error.getCause() == null ? error.getMessage() : message(error.getCause());
    }

    private static void awaitRunning(MiniCluster flink, JobID job) throws Exception {
        boolean isRunning = false;
        while (!isRunning) {
            Thread.sleep(10);
            isRunning = flink.getJobStatus(job).get() == JobStatus.RUNNING;
            for (AccessExecutionVertex subtask : flink.getExecutionGraph(job).get().getAllExecutionVertices()) {
                isRunning &= subtask.getExecutionState() == ExecutionState.RUNNING;
            }
        }
    }

    private static JobGraph job(File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.min-pause", "1 h");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.delay", "1 ms");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(1);
        environment
                .fromSource(new Numbers(), WatermarkStrategy.noWatermarks(), "numbers")
                .map(new Throttled())
                .returns(Types.LONG)
                .rebalance()
                .transform("receive", Types.LONG, new ReceiveFactory())
                .uid("receive")
                .slotSharingGroup("another TaskManager")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    /** Numbers, whose enumerator fails to take its first snapshot, when the coordinator has taken its own. */
    private static final class Numbers extends NumberSequenceSource {

        private static final long serialVersionUID = 1L;

        Numbers() {
            super(0, Integer.MAX_VALUE);
        }

        @Override
        public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
                SplitEnumeratorContext<NumberSequenceSplit> context) {
            return new IteratorSourceEnumerator<>(context, splitNumberRange(0, Integer.MAX_VALUE, 1)) {
                private boolean fails = !isControl;

                @Override
                public Collection<NumberSequenceSplit> snapshotState(long checkpoint) throws Exception {
                    if (fails) {
                        fails = false;
                        COORDINATOR_HAS_ITS_PART.await();
                        throw new Exception("the enumerator fails, as planned");
                    }
                    return super.snapshotState(checkpoint);
                }
            };
        }
    }

    private static final class Throttled implements MapFunction<Long, Long> {

        private static final long serialVersionUID = 1L;

        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(1);
            return number;
        }
    }

    /** A counter that takes long to serialize once, in the main thread of its TaskManager. */
    private static final class SlowCounter extends IntCounter {

        private static final long serialVersionUID = 1L;

        private void writeObject(ObjectOutputStream stream) throws IOException {
            if (isRunning) {
                TASK_MANAGER_IS_SLOW.countDown();
                try {
                    TASK_MANAGER_GOES_ON.await();
                } catch (InterruptedException error) {
                    throw new IOException(error);
                }
            }
            stream.defaultWriteObject();
        }
    }

    /** An event and its number. */
    private record Event(int number) implements OperatorEvent {}

    /** Its state is how many events it has sent. */
    private static final class Numbering implements OperatorCoordinator {

        private final Context context;
        private SubtaskGateway operator;
        private int sent;

        Numbering(Context context) {
            this.context = context;
            coordinator = this;
        }

        /** Sends one more event. */
        synchronized void send() {
            operator.sendEvent(new Event(++sent));
        }

        @Override
        public synchronized void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
            operator = gateway;
            READY.release();
        }

        @Override
        public synchronized void checkpointCoordinator(long checkpoint, CompletableFuture<byte[]> result) {
            result.complete(ByteBuffer.allocate(Integer.BYTES).putInt(sent).array());
            COORDINATOR_HAS_ITS_PART.countDown();
        }

        @Override
        public synchronized void resetToCheckpoint(long checkpoint, byte[] state) {
            sent = state == null ? 0 : ByteBuffer.wrap(state).getInt();
        }

        @Override
        public void start() {}

        @Override
        public void close() {}

        @Override
        public void handleEventFromOperator(int subtask, int attempt, OperatorEvent event) {}

        @Override
        public void notifyCheckpointComplete(long checkpoint) {}

        @Override
        public void subtaskReset(int subtask, long checkpoint) {}

        @Override
        public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {}
    }

    /** Keeps which events have come. */
    private static final class Receive extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Long, Long>, OperatorEventHandler {

        private static final long serialVersionUID = 1L;

        private transient ListState<Integer> stored;
        private transient boolean isRestored;

        Receive(StreamOperatorParameters<Long> parameters) {
            setup(parameters.getContainingTask(), parameters.getStreamConfig(), parameters.getOutput());
        }

        @Override
        public void initializeState(StateInitializationContext state) throws Exception {
            stored = state.getOperatorStateStore().getListState(new ListStateDescriptor<>("events", Types.INT));
            isRestored = state.isRestored();
            received = new ArrayList<>();
            stored.get().forEach(received::add);
        }

        @Override
        public void open() {
            getRuntimeContext().addAccumulator("slow", new SlowCounter());
        }

        @Override
        public void handleOperatorEvent(OperatorEvent event) {
            received.add(((Event) event).number);
            if (isRestored) {
                RECEIVED_AFTER_RESTORE.countDown();
            }
        }

        @Override
        public void snapshotState(StateSnapshotContext snapshot) throws Exception {
            stored.update(received);
        }

        @Override
        public void processElement(StreamRecord<Long> number) {
            output.collect(number);
        }
    }

    private static final class ReceiveFactory extends AbstractStreamOperatorFactory<Long>
            implements OneInputStreamOperatorFactory<Long, Long>, CoordinatedOperatorFactory<Long> {

        private static final long serialVersionUID = 1L;

        @Override
        @SuppressWarnings("unchecked")
        public <T extends StreamOperator<Long>> T createStreamOperator(StreamOperatorParameters<Long> parameters) {
            Receive operator = new Receive(parameters);
            parameters.getOperatorEventDispatcher().registerEventHandler(operator.getOperatorID(), operator);
            return (T) operator;
        }

        @Override
        public OperatorCoordinator.Provider getCoordinatorProvider(String name, OperatorID id) {
            return new Provider(id);
        }

        @Override
        @SuppressWarnings("rawtypes")
        public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
            return Receive.class;
        }
    }

    private record Provider(OperatorID operator) implements OperatorCoordinator.Provider {

        @Override
        public OperatorID getOperatorId() {
            return operator;
        }

        @Override
        public OperatorCoordinator create(OperatorCoordinator.Context context) {
            return new Numbering(context);
        }
    }
}
