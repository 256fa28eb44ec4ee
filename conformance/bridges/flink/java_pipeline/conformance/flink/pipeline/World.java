package conformance.flink.pipeline;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** What is outside jobs and outlives them: which records exist, what sinks have committed, where checkpoints are. */
final class World {

    private static World current;

    /** A transaction, as the port names it. */
    record Name(int sink, int subtask, long checkpoint) {}

    final Path folder;
    private final int[] supplied;
    private final Map<Name, int[]> committed = new HashMap<>();

    private World(int splits) throws IOException {
        folder = Files.createTempDirectory("checkpoints-");
        supplied = new int[splits];
    }

    /** The world of a job: that of the job before, if this one begins with one of its checkpoints, else a new one. */
    static World of(JobPlan plan) throws IOException {
        if (plan.location == null || current == null) {
            if (current != null) {
                current.clear();
            }
            current = new World(plan.splits);
        } else {
            current.goBackTo(plan.restored);
        }
        return current;
    }

    synchronized void supply(int split, int count) {
        supplied[split] += count;
    }

    synchronized int supplied(int split) {
        return supplied[split];
    }

    /** What comes behind the checkpoint is committed by the next job again, under names that are the same. */
    private synchronized void goBackTo(long checkpoint) {
        committed.keySet().removeIf(name -> name.checkpoint > checkpoint);
    }

    /** Whether this has an effect: a transaction that was committed under its name has none a second time. */
    synchronized boolean commit(Name name, int[] records) {
        int[] before = committed.put(name, records);
        return before == null || !Arrays.equals(before, records);
    }

    private void clear() {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(path);
            }
        } catch (IOException | UncheckedIOException left) {
            // A cluster may still write to it. It is in the folder of temporary files.
        }
    }
}
