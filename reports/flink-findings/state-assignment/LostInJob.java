import java.io.File;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A whole job on Flink's mini cluster: a source of 2 subtasks, and an operator of 3 that counts its records. It is
 * restored from an unaligned checkpoint with a source of 3 subtasks, so that both are chained, and runs to its end.
 *
 * <p>Exit status 1: records were lost. 0: none was. With the argument "control" the operator has 4 subtasks in the
 * restored job, so that nothing is chained.
 */
public final class LostInJob {

    private static final long RECORDS = 4000;
    private static final AtomicLong COUNTED = new AtomicLong();
    private static volatile boolean isSlow = true;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        File folder = Files.createTempDirectory("checkpoints").toFile();
        Configuration cluster = new Configuration();
        cluster.setString("taskmanager.memory.segment-size", "4kb");
        cluster.setString("taskmanager.memory.network.min", "16mb");
        cluster.setString("taskmanager.memory.network.max", "16mb");
        cluster.setString("taskmanager.memory.managed.size", "32mb");
        cluster.setString("rest.port", "0");
        cluster.setString("rest.bind-port", "0");
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(cluster)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(8)
                        .withRandomPorts()
                        .build();
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph first = job(2, 3, null, folder);
            flink.submitJob(first).get();
            while (flink.getJobStatus(first.getJobID()).get() != JobStatus.RUNNING) {
                Thread.sleep(5);
            }
            Thread.sleep(500);
            String checkpoint = checkpoint(flink, first);
            flink.cancelJob(first.getJobID()).get();
            flink.requestJobResult(first.getJobID()).get(60, TimeUnit.SECONDS);

            isSlow = false;
            COUNTED.set(0);
            JobGraph second = job(3, isControl ? 4 : 3, checkpoint, folder);
            System.out.println("vertices of the restored job: " + second.getNumberOfVertices());
            flink.submitJob(second).get();
            JobResult result = flink.requestJobResult(second.getJobID()).get(120, TimeUnit.SECONDS);
            System.out.println("the restored job: " + (result.isSuccess() ? "finished" : result.getSerializedThrowable()));
        }
        long lost = RECORDS - COUNTED.get();
        System.out.println(lost == 0 ? "no record was lost" : "LOST: " + lost + " of " + RECORDS);
        System.exit(lost == 0 ? 0 : 1);
    }

    private static String checkpoint(MiniCluster flink, JobGraph job) throws Exception {
        while (true) {
            try {
                return flink.triggerCheckpoint(job.getJobID()).get(60, TimeUnit.SECONDS);
            } catch (ExecutionException declined) {
                Thread.sleep(20);
            }
        }
    }

    private static JobGraph job(int sources, int counters, String checkpoint, File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.unaligned.enabled", "true");
        // Otherwise a task that has finished may wait for the next checkpoint, which comes in an hour.
        settings.setString("execution.checkpointing.checkpoints-after-tasks-finish.enabled", "false");
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment
                .fromSource(new NumberSequenceSource(0, RECORDS - 1), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .setParallelism(sources)
                .map(number -> text(number))
                .returns(Types.STRING)
                .uid("text")
                .setParallelism(sources)
                .map(new Count())
                .returns(Types.STRING)
                .uid("count")
                .setParallelism(counters)
                .sinkTo(new DiscardingSink<>())
                .uid("sink")
                .setParallelism(counters);
        JobGraph job = environment.getStreamGraph().getJobGraph();
        if (checkpoint != null) {
            job.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(checkpoint));
        }
        return job;
    }

    private static String text(long number) {
        char[] text = new char[600];
        Arrays.fill(text, (char) ('a' + number % 26));
        return new String(text);
    }

    private static final class Count extends RichMapFunction<String, String> implements CheckpointedFunction {

        private static final long serialVersionUID = 1L;

        private transient ListState<Long> stored;
        private long counted;

        @Override
        public String map(String value) throws Exception {
            if (isSlow) {
                Thread.sleep(2);
            }
            counted++;
            return value;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            stored.update(List.of(counted));
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            stored = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("counted", Types.LONG));
            for (long one : stored.get()) {
                counted += one;
            }
        }

        @Override
        public void close() {
            COUNTED.addAndGet(counted);
        }
    }
}
