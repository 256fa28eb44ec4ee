package conformance.flink.job;

import conformance.flink.Json;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Runs the job once, as its only argument says, which is JSON, and prints what happened as JSON Lines. */
public final class Main {

    private static final long POLL_MILLIS = 100;
    /** A job that has not ended so long after its last split is cancelled. */
    private static final int LONGEST_END_TIMEOUTS = 5;

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Lines.begin();
        Settings settings = new Settings(Json.parse(arguments[0]));
        Settings.current = settings;
        Lines.print(Lines.now("start").put("version", EnvironmentInformation.getVersion()));
        new Heartbeat().start();
        try (MiniCluster cluster = new MiniCluster(cluster(settings))) {
            cluster.start();
            JobGraph graph = graph(settings);
            cluster.submitJob(graph).get();
            run(cluster, graph.getJobID(), settings);
        }
        System.exit(0); // even if Flink left a thread running
    }

    private static void run(MiniCluster cluster, JobID job, Settings settings) throws Exception {
        Watch watch = new Watch(settings);
        if (settings.savepointMillis > 0) {
            new Savepoints(cluster, job, settings.savepointMillis).start();
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(settings.seconds);
        while (System.nanoTime() < end && watch.completed() < settings.checkpoints && !ended(cluster, job)) {
            Thread.sleep(POLL_MILLIS);
            watch.look(cluster.getExecutionGraph(job).get());
        }
        Lines.closing();
        Faults.close();
        end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos((long) settings.timeoutMillis * LONGEST_END_TIMEOUTS);
        while (System.nanoTime() < end && !ended(cluster, job)) {
            Thread.sleep(POLL_MILLIS);
            watch.look(cluster.getExecutionGraph(job).get());
        }
        JobStatus status = cluster.getJobStatus(job).get();
        watch.look(cluster.getExecutionGraph(job).get());
        ObjectNode line = Lines.now("end").put("status", status.name()).put("created", Cuts.created);
        ObjectNode results = line.putObject("results");
        for (Map.Entry<Integer, int[]> result : Cuts.results().entrySet()) {
            results.set(result.getKey().toString(), Lines.array(result.getValue()));
        }
        Lines.print(line);
        if (!status.isGloballyTerminalState()) {
            cluster.cancelJob(job).get();
        }
    }

    private static boolean ended(MiniCluster cluster, JobID job) throws Exception {
        return cluster.getJobStatus(job).get().isGloballyTerminalState();
    }

    private static MiniClusterConfiguration cluster(Settings settings) {
        Configuration configuration = new Configuration();
        configuration.setString("taskmanager.memory.network.min", "32mb");
        configuration.setString("taskmanager.memory.network.max", "32mb");
        configuration.setString("taskmanager.memory.managed.size", "16mb");
        configuration.setString("rest.port", "0");
        configuration.setString("rest.bind-port", "0");
        configuration.setString("web.checkpoints.history", "1000");
        return new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(settings.parallelism)
                .withRandomPorts()
                .build();
    }

    private static JobGraph graph(Settings settings) {
        Configuration configuration = new Configuration();
        configuration.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        configuration.setString("execution.checkpointing.storage", "jobmanager");
        configuration.setString("execution.checkpointing.interval", settings.intervalMillis + " ms");
        configuration.setString("execution.checkpointing.timeout", settings.timeoutMillis + " ms");
        configuration.setString("execution.checkpointing.max-concurrent-checkpoints", "" + settings.concurrent);
        configuration.setString("execution.checkpointing.unaligned.enabled", "" + settings.unaligned);
        configuration.setString(
                "execution.checkpointing.aligned-checkpoint-timeout", settings.unalignedAfterMillis + " ms");
        configuration.setString("execution.checkpointing.tolerable-failed-checkpoints", "" + settings.tolerable);
        configuration.setString("restart-strategy.type", "fixed-delay");
        configuration.setString("restart-strategy.fixed-delay.attempts", "1000000");
        configuration.setString("restart-strategy.fixed-delay.delay", "1 ms");
        configuration.setString("pipeline.auto-watermark-interval", "20 ms");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        environment.setParallelism(settings.parallelism);
        WatermarkStrategy<Integer> watermarks = WatermarkStrategy.noWatermarks();
        if (settings.alignmentMillis > 0) {
            watermarks =
                    WatermarkStrategy.<Integer>forMonotonousTimestamps()
                            .withWatermarkAlignment(
                                    "units", Duration.ofDays(1), Duration.ofMillis(settings.alignmentMillis));
        }
        DataStream<Integer> units =
                environment.fromSource(new LedgerSource(), watermarks, "source", Types.INT).uid("source");
        if (settings.shuffled) {
            units = units.rebalance();
        }
        units.transform("collect", Types.INT, new Collector()).uid("collect");
        return environment.getStreamGraph().getJobGraph();
    }
}
