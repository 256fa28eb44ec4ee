package conformance.flink.job;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.minicluster.MiniCluster;

/** Triggers savepoints again and again, whatever checkpoints are under way, and removes them. */
final class Savepoints extends Thread {

    private final MiniCluster cluster;
    private final JobID job;
    private final int periodMillis;
    private final Path folder;

    Savepoints(MiniCluster cluster, JobID job, int periodMillis) throws IOException {
        super("savepoints");
        this.cluster = cluster;
        this.job = job;
        this.periodMillis = periodMillis;
        this.folder = Files.createTempDirectory("savepoints-");
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            while (true) {
                Thread.sleep(periodMillis);
                try {
                    cluster.triggerSavepoint(job, folder.toUri().toString(), false, SavepointFormatType.CANONICAL)
                            .get();
                } catch (ExecutionException failed) {
                    // The statistics of the job say why.
                }
                clear();
            }
        } catch (InterruptedException end) {
            clear();
        }
    }

    private void clear() {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                if (!path.equals(folder)) {
                    Files.deleteIfExists(path);
                }
            }
        } catch (IOException | UncheckedIOException left) {
            // A failed savepoint may still be removed by Flink; what is left now goes with the next one.
        }
    }
}
