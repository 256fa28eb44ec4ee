import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointIDCounter;
import org.apache.flink.runtime.checkpoint.CheckpointRecoveryFactory;
import org.apache.flink.runtime.checkpoint.StandaloneCheckpointIDCounter;
import org.apache.flink.runtime.checkpoint.StandaloneCheckpointRecoveryFactory;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesFactory;
import org.apache.flink.runtime.highavailability.nonha.embedded.EmbeddedHaServices;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.operators.coordination.OperatorEventHandler;
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
 * A whole job on Flink's mini cluster: numbers, and an operator with a coordinator, which has two subtasks. They are
 * restarted one by one.
 *
 * <p>A checkpoint is triggered, and its id is slow to come, as it may be from ZooKeeper. Meanwhile a subtask fails. The
 * id comes before the subtask is restarted, so the coordinator is asked for its part, and is still at work when the
 * restart aborts the checkpoint.
 *
 * <p>Exit status 1: the checkpoint has failed, and the coordinator was not notified. 0: it was. With the argument
 * "control" the id comes before the subtask fails.
 */
public final class UntoldInJob {

    private static final int RESTART_DELAY_SECONDS = 5;
    private static final CountDownLatch ID_IS_ASKED = new CountDownLatch(1);
    private static final CountDownLatch ID_COMES = new CountDownLatch(1);
    private static final CountDownLatch SUBTASK_HAS_FAILED = new CountDownLatch(1);
    private static final CountDownLatch IS_AT_WORK = new CountDownLatch(1);
    private static final Semaphore READY = new Semaphore(0);
    private static volatile boolean isRunning;
    private static volatile boolean hasToFail;
    private static volatile boolean isNotified;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        File folder = Files.createTempDirectory("checkpoints").toFile();
        Configuration cluster = new Configuration();
        cluster.setString("taskmanager.memory.network.min", "16mb");
        cluster.setString("taskmanager.memory.network.max", "16mb");
        cluster.setString("taskmanager.memory.managed.size", "32mb");
        cluster.setString("rest.port", "0");
        cluster.setString("rest.bind-port", "0");
        cluster.setString("high-availability.type", SlowIds.class.getName());
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(cluster)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(2)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job(folder);
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            READY.acquire(2);
            awaitRunning(flink, job);
            isRunning = true;
            CompletableFuture<String> checkpoint = flink.triggerCheckpoint(job);
            ID_IS_ASKED.await();
            System.out.println("a checkpoint: triggered, and waits for its id");
            if (isControl) {
                ID_COMES.countDown();
                IS_AT_WORK.await();
            }
            hasToFail = true;
            SUBTASK_HAS_FAILED.await();
            flink.getExecutionGraph(job).get(); // after that the turn is over in which the job master has heard of it
            System.out.println("a subtask: failed");
            ID_COMES.countDown();
            IS_AT_WORK.await();
            System.out.println("the checkpoint: " + checkpoint.handle((path, error) -> name(error)).get());
            READY.acquire();
            System.out.println("the subtask: running again");
            flink.cancelJob(job).get();
            flink.requestJobResult(job).get();
        }
        System.out.println(isNotified ? "the coordinator was notified" : "UNTOLD: the coordinator was not notified");
        System.exit(isNotified ? 0 : 1);
    }

    private static String name(Throwable error) {
        return error.getCause() == null ? error.getMessage() : name(error.getCause());
    }

    private static void awaitRunning(MiniCluster flink, JobID job) throws Exception {
        boolean areAll = false;
        while (!areAll) {
            Thread.sleep(10);
            areAll = flink.getJobStatus(job).get() == JobStatus.RUNNING;
            for (AccessExecutionVertex subtask : flink.getExecutionGraph(job).get().getAllExecutionVertices()) {
                areAll &= subtask.getExecutionState() == ExecutionState.RUNNING;
            }
        }
    }

    private static JobGraph job(File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.min-pause", "1 h");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.delay", RESTART_DELAY_SECONDS + " s");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(2);
        environment
                .fromSource(
                        new NumberSequenceSource(0, Integer.MAX_VALUE), WatermarkStrategy.noWatermarks(), "numbers")
                .map(new Failing())
                .returns(Types.LONG)
                .transform("pass", Types.LONG, new PassFactory())
                .uid("pass")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    /** Its first subtask fails when it is told to. */
    private static final class Failing extends RichMapFunction<Long, Long> {

        private static final long serialVersionUID = 1L;

        @Override
        public Long map(Long number) throws Exception {
            if (hasToFail && getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 0) {
                hasToFail = false;
                throw new Exception("a failure, as planned");
            }
            Thread.sleep(1);
            return number;
        }
    }

    /** Services for high availability that give one id of a checkpoint late. Everything else is embedded. */
    public static final class SlowIds implements HighAvailabilityServicesFactory {

        private static HighAvailabilityServices services;

        @Override
        public synchronized HighAvailabilityServices createHAServices(Configuration settings, Executor executor) {
            if (services == null) {
                services = new Services(executor);
            }
            return services;
        }
    }

    private static final class Services extends EmbeddedHaServices {

        Services(Executor executor) {
            super(executor);
        }

        @Override
        public CheckpointRecoveryFactory getCheckpointRecoveryFactory() {
            return new StandaloneCheckpointRecoveryFactory() {
                @Override
                public CheckpointIDCounter createCheckpointIDCounter(JobID job) {
                    return new StandaloneCheckpointIDCounter() {
                        @Override
                        public long getAndIncrement() throws Exception {
                            if (isRunning) {
                                ID_IS_ASKED.countDown();
                                ID_COMES.await();
                            }
                            return super.getAndIncrement();
                        }
                    };
                }
            };
        }
    }

    /** Has no state, sends no events, and takes long for its part of a checkpoint. */
    private static final class Slow implements OperatorCoordinator {

        @Override
        public void checkpointCoordinator(long checkpoint, CompletableFuture<byte[]> result) {
            IS_AT_WORK.countDown();
        }

        @Override
        public void notifyCheckpointAborted(long checkpoint) {
            isNotified = true;
        }

        @Override
        public void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
            READY.release();
        }

        @Override
        public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {
            SUBTASK_HAS_FAILED.countDown();
        }

        @Override
        public void resetToCheckpoint(long checkpoint, byte[] state) {}

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
    }

    private static final class Pass extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Long, Long>, OperatorEventHandler {

        private static final long serialVersionUID = 1L;

        Pass(StreamOperatorParameters<Long> parameters) {
            setup(parameters.getContainingTask(), parameters.getStreamConfig(), parameters.getOutput());
        }

        @Override
        public void handleOperatorEvent(OperatorEvent event) {}

        @Override
        public void processElement(StreamRecord<Long> number) {
            output.collect(number);
        }
    }

    private static final class PassFactory extends AbstractStreamOperatorFactory<Long>
            implements OneInputStreamOperatorFactory<Long, Long>, CoordinatedOperatorFactory<Long> {

        private static final long serialVersionUID = 1L;

        @Override
        @SuppressWarnings("unchecked")
        public <T extends StreamOperator<Long>> T createStreamOperator(StreamOperatorParameters<Long> parameters) {
            Pass operator = new Pass(parameters);
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
            return Pass.class;
        }
    }

    private record Provider(OperatorID operator) implements OperatorCoordinator.Provider {

        @Override
        public OperatorID getOperatorId() {
            return operator;
        }

        @Override
        public OperatorCoordinator create(OperatorCoordinator.Context context) {
            return new Slow();
        }
    }
}
