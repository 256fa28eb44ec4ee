import java.io.File;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
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
 * A whole job on Flink's mini cluster: numbers, and an operator with a coordinator, which has two subtasks. The first
 * finishes long before the second. The coordinator sends an event to each subtask at the beginning of its part of a
 * checkpoint; Flink does not tell it that a subtask has finished.
 *
 * <p>Exit status 1: checkpoints have failed. 0: they are complete. With the argument "control" the coordinator sends
 * the events a second before each checkpoint.
 */
public final class FailInJob {

    private static final long RECORDS = 20_000;
    private static final long SLOW_FROM = 10_000;
    private static volatile boolean sendsAtCheckpoint;
    private static volatile Announcing coordinator;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
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
                        .setNumSlotsPerTaskManager(2)
                        .withRandomPorts()
                        .build();
        boolean areComplete = true;
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job(folder);
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            while (count(flink, job, ExecutionState.RUNNING) < 2) {
                Thread.sleep(100);
            }
            while (count(flink, job, ExecutionState.FINISHED) < 1) { // which waits for one more checkpoint
                Thread.sleep(100);
                checkpoint(flink, job);
            }
            System.out.println("a subtask: finished");
            sendsAtCheckpoint = !isControl;
            for (int number = 1; number <= 3; number++) {
                if (isControl) {
                    coordinator.send();
                    Thread.sleep(1000);
                }
                String result = checkpoint(flink, job);
                System.out.println("checkpoint " + number + " after that: " + result);
                areComplete &= result.equals("complete");
            }
            System.out.println("the job: " + flink.getJobStatus(job).get());
            flink.cancelJob(job).get();
        }
        System.exit(areComplete ? 0 : 1);
    }

    private static String checkpoint(MiniCluster flink, JobID job) throws Exception {
        return flink.triggerCheckpoint(job)
                .handle((path, error) -> error == null ? "complete" : "FAILED, " + message(error))
                .get();
    }

    private static String message(Throwable error) {
        return error.getCause() == null ? error.getMessage() : message(error.getCause());
    }

    private static int count(MiniCluster flink, JobID job, ExecutionState state) throws Exception {
        int found = 0;
        for (AccessExecutionVertex subtask : flink.getExecutionGraph(job).get().getAllExecutionVertices()) {
            found += subtask.getExecutionState() == state ? 1 : 0;
        }
        return found;
    }

    private static JobGraph job(File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.min-pause", "1 h");
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(2);
        environment
                .fromSource(new NumberSequenceSource(0, RECORDS), WatermarkStrategy.noWatermarks(), "numbers")
                .map(
                        number -> {
                            if (number > SLOW_FROM) {
                                Thread.sleep(20);
                            }
                            return number;
                        })
                .returns(Types.LONG)
                .transform("pass", Types.LONG, new PassFactory())
                .uid("pass")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private record Announcement() implements OperatorEvent {}

    /** Has no state, and sends each event to all subtasks. */
    private static final class Announcing implements OperatorCoordinator {

        private final Map<Integer, SubtaskGateway> subtasks = new ConcurrentHashMap<>();

        Announcing() {
            coordinator = this;
        }

        void send() {
            subtasks.values().forEach(subtask -> subtask.sendEvent(new Announcement()));
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
        public void checkpointCoordinator(long checkpoint, CompletableFuture<byte[]> result) {
            if (sendsAtCheckpoint) {
                send();
            }
            result.complete(new byte[0]);
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
            return new Announcing();
        }
    }
}
