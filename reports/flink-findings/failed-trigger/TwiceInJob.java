import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
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
 * A whole job on Flink's mini cluster: numbers, a map, and an operator with a coordinator. The coordinator numbers the
 * events that it sends, and its state is how many it has sent. The state of the operator is which it has received.
 *
 * <p>The map is slow when a checkpoint begins, so that the barrier waits. The coordinator sends event 1 behind its part
 * of the checkpoint. A savepoint is to be written where no folder can be made, and fails. Then the map goes on, the
 * checkpoint completes, and the job is restored from it.
 *
 * <p>Exit status 1: the operator has received event 1 twice. 0: once. With the argument "control" there is no
 * savepoint.
 */
public final class TwiceInJob {

    private static final CountDownLatch MAP_IS_SLOW = new CountDownLatch(1);
    private static final CountDownLatch MAP_GOES_ON = new CountDownLatch(1);
    private static final CountDownLatch COORDINATOR_HAS_ITS_PART = new CountDownLatch(1);
    private static final CountDownLatch RECEIVED = new CountDownLatch(1);
    private static final CountDownLatch RECEIVED_AFTER_RESTORE = new CountDownLatch(1);
    private static volatile Numbering coordinator;
    private static volatile List<Integer> received;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        // Flink would log that the abort of the savepoint raised in the gateways, which is another finding.
        System.setProperty("org.apache.logging.log4j.level", "OFF");
        File folder = Files.createTempDirectory("checkpoints").toFile();
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
                        .setNumSlotsPerTaskManager(1)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job(folder);
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            MAP_IS_SLOW.await();
            awaitRunning(flink, job);
            CompletableFuture<String> checkpoint = flink.triggerCheckpoint(job);
            COORDINATOR_HAS_ITS_PART.await();
            System.out.println("a checkpoint: begun, and the coordinator says that it has sent no event");
            coordinator.send();
            System.out.println("the coordinator: sends event 1");
            if (!isControl) {
                File file = File.createTempFile("file", "", folder);
                try {
                    flink.triggerSavepoint(job, file.toURI() + "/in-a-file", false, SavepointFormatType.CANONICAL)
                            .get(60, TimeUnit.SECONDS);
                } catch (ExecutionException error) {
                    System.out.println("a savepoint: " + name(error));
                }
            }
            boolean isEarly = RECEIVED.await(3, TimeUnit.SECONDS);
            System.out.println("event 1: " + (isEarly ? "received before" : "waits for") + " the barrier");
            MAP_GOES_ON.countDown();
            checkpoint.get(60, TimeUnit.SECONDS);
            System.out.println("the checkpoint: complete");
            coordinator.context.failJob(new Exception("a failure, as planned"));
            RECEIVED_AFTER_RESTORE.await();
            System.out.println("the job: restored, and the operator has received " + received);
            flink.cancelJob(job).get();
        }
        System.out.println(received.size() == 1 ? "no event came twice" : "TWICE: an event came twice");
        System.exit(received.size() == 1 ? 0 : 1);
    }

    private static String name(Throwable error) {
        return error.getCause() == null ? error.getClass().getSimpleName() : name(error.getCause());
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
                .fromSource(
                        new NumberSequenceSource(0, Integer.MAX_VALUE), WatermarkStrategy.noWatermarks(), "numbers")
                .map(new Slow())
                .returns(Types.LONG)
                .rebalance()
                .transform("receive", Types.LONG, new ReceiveFactory())
                .uid("receive")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private static final class Slow implements MapFunction<Long, Long> {

        private static final long serialVersionUID = 1L;

        @Override
        public Long map(Long number) throws Exception {
            MAP_IS_SLOW.countDown();
            MAP_GOES_ON.await();
            Thread.sleep(1);
            return number;
        }
    }

    /** An event and its number. */
    private record Event(int number) implements OperatorEvent {}

    /** Its state is how many events it has sent. After a restore it sends again what was not sent by then. */
    private static final class Numbering implements OperatorCoordinator {

        private final Context context;
        private SubtaskGateway operator;
        private int sent;
        private int asked;

        Numbering(Context context) {
            this.context = context;
            coordinator = this;
        }

        /** Sends one more event. */
        synchronized void send() {
            asked++;
            sendAsked();
        }

        private void sendAsked() {
            while (sent < asked) {
                operator.sendEvent(new Event(++sent));
            }
        }

        @Override
        public synchronized void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
            operator = gateway;
            sendAsked();
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
        public void handleOperatorEvent(OperatorEvent event) {
            received.add(((Event) event).number);
            (isRestored ? RECEIVED_AFTER_RESTORE : RECEIVED).countDown();
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
