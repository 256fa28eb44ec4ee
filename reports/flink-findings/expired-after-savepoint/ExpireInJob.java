import java.io.File;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A whole job on Flink's mini cluster: a source with watermark alignment and two subtasks, of which the first finishes
 * long before the second. Then a savepoint is taken, and a second later three checkpoints, one after the other.
 *
 * <p>Exit status 1: the first checkpoint after the savepoint has expired. 0: all have completed. With the argument
 * "control" a checkpoint is taken in place of the savepoint.
 */
public final class ExpireInJob {

    private static final long RECORDS = 20_000;
    private static final long SLOW_FROM = 10_000;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
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
        boolean hasExpired = false;
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph job = job(folder);
            flink.submitJob(job).get();
            while (!isAny(flink, job, ExecutionState.RUNNING)) {
                Thread.sleep(100);
            }
            Thread.sleep(2000); // all are running, and the first reader is done
            while (!isAny(flink, job, ExecutionState.FINISHED)) { // a reader that is done waits for one more checkpoint
                Thread.sleep(100);
                checkpoint(flink, job);
            }
            System.out.println("a reader has finished");
            if (isControl) {
                System.out.println("a checkpoint: " + (checkpoint(flink, job) ? "complete" : "EXPIRED"));
            } else {
                flink.triggerSavepoint(
                                job.getJobID(), folder.toURI() + "savepoint", false, SavepointFormatType.CANONICAL)
                        .get(60, TimeUnit.SECONDS);
                System.out.println("a savepoint: complete");
            }
            Thread.sleep(1000);
            for (int number = 1; number <= 3; number++) {
                boolean isComplete = checkpoint(flink, job);
                System.out.println("checkpoint " + number + " after that: " + (isComplete ? "complete" : "EXPIRED"));
                hasExpired |= !isComplete;
            }
            flink.cancelJob(job.getJobID()).get();
        }
        System.exit(hasExpired ? 1 : 0);
    }

    private static boolean isAny(MiniCluster flink, JobGraph job, ExecutionState state) throws Exception {
        if (flink.getJobStatus(job.getJobID()).get() != JobStatus.RUNNING) {
            return false;
        }
        for (AccessExecutionJobVertex vertex :
                flink.getExecutionGraph(job.getJobID()).get().getVerticesTopologically()) {
            for (AccessExecutionVertex subtask : vertex.getTaskVertices()) {
                if (subtask.getExecutionState() == state) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean checkpoint(MiniCluster flink, JobGraph job) throws Exception {
        try {
            flink.triggerCheckpoint(job.getJobID()).get(60, TimeUnit.SECONDS);
            return true;
        } catch (ExecutionException error) {
            if (!String.valueOf(error.getCause()).contains("expired")) {
                throw error;
            }
            return false;
        }
    }

    private static JobGraph job(File folder) {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.dir", folder.toURI().toString());
        settings.setString("execution.checkpointing.interval", "1 h");
        settings.setString("execution.checkpointing.timeout", "5 s");
        settings.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000000");
        settings.setString("execution.checkpointing.checkpoints-after-tasks-finish.enabled", "true");
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment
                .fromSource(
                        new NumberSequenceSource(0, RECORDS),
                        WatermarkStrategy.<Long>forMonotonousTimestamps()
                                .withTimestampAssigner((number, timestamp) -> number)
                                .withWatermarkAlignment("all", Duration.ofDays(365), Duration.ofMillis(200)),
                        "numbers")
                .setParallelism(2)
                .map(
                        number -> {
                            if (number > SLOW_FROM) {
                                Thread.sleep(20);
                            }
                            return number;
                        })
                .returns(Types.LONG)
                .setParallelism(2)
                .sinkTo(new DiscardingSink<>())
                .setParallelism(2);
        return environment.getStreamGraph().getJobGraph();
    }
}
