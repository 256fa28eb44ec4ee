import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
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
 * Whole jobs on Flink's mini cluster, one after the other: numbers, and an operator with a coordinator, which throws at
 * one of them. There is no restart, so the result of the job has the cause. The coordinator sends an event to the
 * operator every fifth of a millisecond, until it is told that the attempt has failed.
 *
 * <p>Exit status 1: jobs have failed of something else, and what was thrown is not among the causes. 0: each has failed
 * of what was thrown. With the argument "control" the coordinator sends nothing. It depends on time: a task that has
 * failed must get an event before its failure is reported.
 */
public final class HiddenInJob {

    private static final int JOBS = 10;
    private static final long FAILS_AT = 2_000;
    private static final long BETWEEN_EVENTS_NANOS = 200_000;
    private static final String THROWN = "number 2000 cannot be passed on";
    private static volatile boolean sends;

    public static void main(String[] arguments) throws Exception {
        sends = arguments.length == 0 || !arguments[0].equals("control");
        System.setProperty("org.apache.logging.log4j.level", "OFF");
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
        int hidden = 0;
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            for (int number = 1; number <= JOBS; number++) {
                JobGraph job = job();
                flink.submitJob(job).get();
                Throwable failure = flink.requestJobResult(job.getJobID())
                        .get()
                        .getSerializedThrowable()
                        .get()
                        .deserializeError(HiddenInJob.class.getClassLoader());
                boolean isNamed = false;
                Throwable deepest = failure;
                for (Throwable one = failure; one != null; one = one.getCause()) {
                    isNamed |= String.valueOf(one.getMessage()).contains(THROWN);
                    deepest = one;
                }
                hidden += isNamed ? 0 : 1;
                System.out.println("job " + number + ": " + (isNamed ? THROWN : "HIDDEN behind: " + deepest.getMessage()));
            }
        }
        System.out.println("causes that were hidden: " + hidden + " of " + JOBS);
        System.exit(hidden == 0 ? 0 : 1);
    }

    private static JobGraph job() {
        Configuration settings = new Configuration();
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(1);
        environment
                .fromSource(new NumberSequenceSource(1, FAILS_AT), WatermarkStrategy.noWatermarks(), "numbers")
                .transform("pass", Types.LONG, new PassFactory())
                .uid("pass")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private record Announcement() implements OperatorEvent {}

    /** Has no state, and sends events to all subtasks, from a thread of its own. */
    private static final class Announcing implements OperatorCoordinator {

        private final Map<Integer, SubtaskGateway> subtasks = new ConcurrentHashMap<>();
        private volatile boolean isClosed;

        @Override
        public void start() {
            Thread sender = new Thread(this::send, "sender");
            sender.setDaemon(true);
            sender.start();
        }

        private void send() {
            while (sends && !isClosed) {
                subtasks.values().forEach(subtask -> subtask.sendEvent(new Announcement()));
                LockSupport.parkNanos(BETWEEN_EVENTS_NANOS);
            }
        }

        @Override
        public void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
            subtasks.put(subtask, gateway);
        }

        @Override
        public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {
            subtasks.remove(subtask);
        }

        @Override
        public void close() {
            isClosed = true;
        }

        @Override
        public void checkpointCoordinator(long checkpoint, CompletableFuture<byte[]> result) {
            result.complete(new byte[0]);
        }

        @Override
        public void resetToCheckpoint(long checkpoint, byte[] state) {}

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
        public void processElement(StreamRecord<Long> number) throws Exception {
            Thread.sleep(0, 200_000); // so that the coordinator has begun to send
            if (number.getValue() == FAILS_AT) {
                throw new IllegalStateException(THROWN);
            }
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
            return new Announcing();
        }
    }
}
