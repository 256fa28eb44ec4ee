import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.highavailability.nonha.embedded.HaLeadershipControl;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A whole job on Flink's mini cluster: numbers, and a sink that commits in two phases. It takes a checkpoint, and is
 * then stopped with a savepoint. Once the savepoint is complete, and the sink has committed what belongs to it, something
 * fails. The argument says what:
 *
 * <ul>
 *   <li>none: the job master loses its leadership, and gets it back
 *   <li>"region": a subtask of the sink fails; the other subtask, a region of its own, is slow to commit and to close
 *   <li>"control": the sink fails, which has one subtask
 * </ul>
 *
 * <p>Exit status 1: what was committed with the savepoint was read again, and committed again. 0: it was not.
 */
public final class ResumeInJob {

    private static final int NUMBERS_BETWEEN = 100;
    private static final AtomicInteger CAME = new AtomicInteger();
    private static final List<Long> COMMITTED = new ArrayList<>();
    private static final CountDownLatch SAVEPOINT_IS_COMMITTED = new CountDownLatch(1);
    private static final CountDownLatch RESTORED = new CountDownLatch(1);
    private static final CountDownLatch SNAPSHOT_AGAIN = new CountDownLatch(1);
    private static final CountDownLatch COMMITTED_AGAIN = new CountDownLatch(1);
    private static File savepoints;
    private static String failing;

    public static void main(String[] arguments) throws Exception {
        failing = arguments.length == 0 ? "master" : arguments[0];
        File folder = Files.createTempDirectory("checkpoints").toFile();
        savepoints = new File(folder, "savepoint");
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
                        .setHaServices(MiniCluster.HaServices.WITH_LEADERSHIP_CONTROL)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job(folder);
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            await(NUMBERS_BETWEEN);
            flink.triggerCheckpoint(job).get(60, TimeUnit.SECONDS);
            System.out.println("a checkpoint: complete");
            await(NUMBERS_BETWEEN);
            CompletableFuture<String> stopped =
                    flink.stopWithSavepoint(job, savepoints.toURI().toString(), false, SavepointFormatType.CANONICAL);
            SAVEPOINT_IS_COMMITTED.await();
            System.out.println("the savepoint: complete, and the sink has committed what belongs to it");
            if (failing.equals("master")) {
                HaLeadershipControl leadership = flink.getHaLeadershipControl().orElseThrow();
                leadership.revokeJobMasterLeadership(job).get();
                leadership.grantJobMasterLeadership(job).get();
                System.out.println("the job master has lost its leadership, and has got it back");
            }
            if (!failing.equals("control")) {
                RESTORED.await();
                System.out.println("the checkpoint: restored");
                await(NUMBERS_BETWEEN);
                CompletableFuture<String> checkpoint = flink.triggerCheckpoint(job);
                checkpoint.get(60, TimeUnit.SECONDS);
                System.out.println("another checkpoint: complete");
                COMMITTED_AGAIN.await();
            }
            String told = stopped.handle((path, failure) -> failure == null ? "done" : name(failure)).get();
            System.out.println("whoever stopped the job is told: " + told);
            JobStatus status = flink.getJobStatus(job).get();
            while (!status.isTerminalState() && !failing.equals("master")) {
                Thread.sleep(10);
                status = flink.getJobStatus(job).get();
            }
            System.out.println("the job: " + status);
        }
        int twice = COMMITTED.size() - new HashSet<>(COMMITTED).size();
        System.out.println(twice == 0 ? "no number was committed twice" : "TWICE: numbers were committed twice");
        System.exit(twice == 0 ? 0 : 1);
    }

    private static String name(Throwable failure) {
        return failure.getCause() == null ? failure.getClass().getSimpleName() : name(failure.getCause());
    }

    /** Waits until so many further numbers have come. */
    private static void await(int numbers) throws InterruptedException {
        int until = CAME.get() + numbers;
        while (CAME.get() < until) {
            Thread.sleep(10);
        }
    }

    private static JobGraph job(File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.min-pause", "1 h");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "1000");
        settings.setString("restart-strategy.fixed-delay.delay", "1 ms");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(failing.equals("region") ? 2 : 1);
        environment
                .fromSource(
                        new NumberSequenceSource(0, Integer.MAX_VALUE), WatermarkStrategy.noWatermarks(), "numbers")
                .map(new TwoPhases())
                .returns(Types.LONG)
                .uid("two phases")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    /** Prepares numbers in the snapshot of a checkpoint, and commits them when that checkpoint is complete. */
    private static final class TwoPhases extends RichMapFunction<Long, Long>
            implements CheckpointedFunction, CheckpointListener {

        private static final long serialVersionUID = 1L;

        private transient int subtask;
        private transient boolean isRestored;
        private transient List<Long> written;
        private transient List<Long> prepared;
        private transient ListState<Long> stored;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            stored = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("prepared", Types.LONG));
            subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            isRestored = context.isRestored();
            written = new ArrayList<>();
            prepared = new ArrayList<>(); // what is restored was committed before anything failed
            if (isRestored) {
                RESTORED.countDown();
            }
        }

        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(1);
            written.add(number);
            CAME.incrementAndGet();
            return number;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            prepared.addAll(written);
            written.clear();
            stored.update(prepared);
            if (isRestored) {
                SNAPSHOT_AGAIN.countDown();
            }
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) throws Exception {
            synchronized (COMMITTED) {
                COMMITTED.addAll(prepared);
            }
            prepared.clear();
            if (isRestored) {
                COMMITTED_AGAIN.countDown();
            } else if (isComplete(savepoints)) {
                committedWithSavepoint();
            }
        }

        private void committedWithSavepoint() throws Exception {
            if (subtask == 0) {
                SAVEPOINT_IS_COMMITTED.countDown();
                if (failing.equals("master")) {
                    new CountDownLatch(1).await(); // until the task is cancelled
                }
                throw new Exception("the sink fails, as planned");
            }
            SNAPSHOT_AGAIN.await();
        }

        private static boolean isComplete(File savepoints) {
            File[] found = savepoints.listFiles();
            return found != null && found.length == 1 && new File(found[0], "_metadata").exists();
        }

        @Override
        public void close() throws Exception {
            if (subtask == 1) {
                COMMITTED_AGAIN.await();
            }
        }
    }
}
