package conformance.flink.pipeline;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.checkpoint.MasterTriggerRestoreHook;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.tasks.JobCheckpointingSettings;
import org.apache.flink.util.SerializedValue;

/**
 * Which checkpoint each restore of a job has restored. The statistics of Flink keep only the last one, so the checkpoint
 * coordinator notifies a hook while it restores: after the same action has made the new attempts of the tasks, and before
 * they are scheduled. So the times of both, by the clock of this JVM, say which attempts a restore has made.
 */
final class Restores {

    /** {@code checkpoint}: 0 if there was none. */
    record Restore(long at, long checkpoint) {}

    private final List<Restore> all = new ArrayList<>();

    synchronized void add(long checkpoint) {
        all.add(new Restore(System.currentTimeMillis(), checkpoint));
    }

    /** The checkpoint that was restored last; 0: none. */
    synchronized long last() {
        return all.isEmpty() ? 0 : all.get(all.size() - 1).checkpoint;
    }

    synchronized Restore get(int number) {
        return all.get(number);
    }

    /** The number of the first restore, {@code from} a number on, that came after an attempt was made; -1: none did. */
    synchronized int of(long made, int from) {
        for (int number = from; number < all.size(); number++) {
            if (all.get(number).at >= made) {
                return number;
            }
        }
        return -1;
    }

    /** The number of the last one before something was scheduled; -1: there is none. */
    synchronized int before(long scheduled) {
        int found = -1;
        for (int number = 0; number < all.size(); number++) {
            found = all.get(number).at <= scheduled ? number : found;
        }
        return found;
    }

    /** Lets the checkpoint coordinators of a job notify a hook of what they restore. */
    static void listen(LiveJob job, JobGraph graph) throws IOException {
        JobCheckpointingSettings settings = graph.getCheckpointingSettings();
        MasterTriggerRestoreHook.Factory[] hooks = {new Factory(job.number)};
        graph.setSnapshotSettings(
                new JobCheckpointingSettings(
                        settings.getCheckpointCoordinatorConfiguration(),
                        settings.getDefaultStateBackend(),
                        settings.isChangelogStateBackendEnabled(),
                        settings.getDefaultCheckpointStorage(),
                        new SerializedValue<>(hooks)));
    }

    /** Each job master makes a hook of its own. */
    private static final class Factory implements MasterTriggerRestoreHook.Factory {

        private static final long serialVersionUID = 1L;
        private final long job;

        private Factory(long job) {
            this.job = job;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <V> MasterTriggerRestoreHook<V> create() {
            return (MasterTriggerRestoreHook<V>) new Hook(LiveJob.of(job).restored);
        }
    }

    /** Flink notifies it of a checkpoint only if it has stored something there, so it stores zero bytes in each. */
    private static final class Hook
            implements MasterTriggerRestoreHook<byte[]>, SimpleVersionedSerializer<byte[]> {

        private final Restores restores;

        private Hook(Restores restores) {
            this.restores = restores;
        }

        @Override
        public String getIdentifier() {
            return "restores";
        }

        @Override
        public void reset() {
            restores.add(0);
        }

        @Override
        public void restoreCheckpoint(long checkpoint, byte[] nothing) {
            restores.add(checkpoint);
        }

        @Override
        public CompletableFuture<byte[]> triggerCheckpoint(long checkpoint, long timestamp, Executor executor) {
            return CompletableFuture.completedFuture(new byte[0]);
        }

        @Override
        public SimpleVersionedSerializer<byte[]> createCheckpointDataSerializer() {
            return this;
        }

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(byte[] nothing) {
            return nothing;
        }

        @Override
        public byte[] deserialize(int version, byte[] nothing) {
            return nothing;
        }
    }
}
