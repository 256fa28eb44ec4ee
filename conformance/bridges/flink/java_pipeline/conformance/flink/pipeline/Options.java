package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import java.nio.file.Path;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;

/** The settings of a job as options of Flink. Options that a release does not have it ignores. */
final class Options {

    /** Time of a scenario is that of an engine that needs none; this one needs some. */
    private static final int SLOWER = 50;

    private Options() {}

    /** Whether this release has the option: the design in which recovered buffers move into the channels. */
    static boolean checkpointsDuringRecovery() {
        for (var field : CheckpointingOptions.class.getFields()) {
            if (field.getName().contains("DURING_RECOVERY")) {
                return true;
            }
        }
        return false;
    }

    /** Those of the job. */
    static Configuration ofJob(JobPlan plan, Path folder) throws BadRequest {
        Configuration options = new Configuration();
        boolean unaligned = plan.isSet("unaligned");
        // What recovers first has no checkpoints during recovery, whatever else is set.
        boolean during = plan.isSet("during_recovery") && !plan.word("recovery").equals("recover-first");
        set(options, "execution.checkpointing.dir", folder.toUri());
        set(options, "execution.checkpointing.savepoint-dir", folder.toUri());
        set(options, "execution.checkpointing.mode", "EXACTLY_ONCE");
        // Checkpoints need an interval. No periodic one is triggered before the first pause is over.
        set(options, "execution.checkpointing.interval", "20 h");
        set(options, "execution.checkpointing.min-pause", "10 h");
        set(options, "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        set(options, "execution.checkpointing.unaligned.enabled", unaligned);
        set(options, "execution.checkpointing.unaligned.forced", unaligned);
        set(options, "execution.checkpointing.during-recovery.enabled", unaligned && during);
        set(
                options,
                "execution.checkpointing.unaligned.recover-output-on-downstream.enabled",
                plan.isSet("output_on_downstream"));
        set(
                options,
                "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file",
                plan.setting("sharing"));
        set(
                options,
                "execution.checkpointing.aligned-checkpoint-timeout",
                unaligned ? plan.setting("alignment_timeout") + " ms" : "0 ms");
        set(
                options,
                "execution.checkpointing.timeout",
                (long) plan.setting("checkpoint_timeout") * SLOWER + " ms");
        set(
                options,
                "execution.checkpointing.max-concurrent-checkpoints",
                unaligned ? 1 : plan.setting("concurrent"));
        set(options, "execution.checkpointing.tolerable-failed-checkpoints", plan.setting("tolerable"));
        set(options, "execution.buffer-timeout.interval", "1 ms");
        set(options, "restart-strategy.type", "fixed-delay");
        set(options, "restart-strategy.fixed-delay.attempts", "1000000");
        set(options, "restart-strategy.fixed-delay.delay", "1 ms");
        set(options, "pipeline.auto-watermark-interval", "0 ms");
        return options;
    }

    /** Those of a cluster. */
    static Configuration ofCluster(JobPlan plan) throws BadRequest {
        Configuration options = new Configuration();
        set(options, "taskmanager.memory.segment-size", "4kb");
        set(options, "taskmanager.memory.min-segment-size", "256b");
        set(options, "taskmanager.memory.network.min", "24mb");
        set(options, "taskmanager.memory.network.max", "24mb");
        set(options, "taskmanager.memory.managed.size", "8mb");
        set(options, "taskmanager.network.memory.buffers-per-channel", plan.setting("exclusive_buffers"));
        set(options, "taskmanager.network.memory.floating-buffers-per-gate", plan.setting("floating_buffers"));
        set(options, "jobmanager.execution.failover-strategy", plan.isSet("regions") ? "region" : "full");
        // A job waits for the worker that takes the place of a lost one, and does not fail since slots are missing.
        set(options, "resourcemanager.standalone.start-up-time", "72000000");
        // A worker that is lost says so. On a machine that is busy, a silent one is not lost.
        set(options, "heartbeat.timeout", "600000");
        set(options, "jobmanager.execution.attempts-history-size", "1000");
        set(options, "cluster.evenly-spread-out-slots", "true");
        set(options, "jobstore.type", "Memory");
        set(options, "execution.checkpointing.num-retained", "1000");
        set(options, "state.checkpoints.num-retained", "1000"); // its name before 2.0
        set(options, "web.checkpoints.history", "1000");
        set(options, "rest.port", "0");
        set(options, "rest.bind-port", "0");
        return options;
    }

    private static void set(Configuration options, String name, Object value) {
        options.setString(name, value.toString());
    }
}
