package conformance.flink.rescaling;

import conformance.flink.Partial;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.flink.runtime.blob.BlobWriter;
import org.apache.flink.runtime.executiongraph.ExecutionDeploymentListener;
import org.apache.flink.runtime.executiongraph.ExecutionStateUpdateListener;
import org.apache.flink.runtime.io.network.partition.JobMasterPartitionTracker;
import org.apache.flink.runtime.shuffle.ShuffleMaster;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an execution graph is made with and does not use before it is deployed, in all releases. */
final class Surroundings {

    static final Logger LOG = LoggerFactory.getLogger(Surroundings.class);
    static final ClassLoader LOADER = Surroundings.class.getClassLoader();

    private Surroundings() {}

    static ScheduledExecutorService executor() {
        return Partial.of(ScheduledExecutorService.class, Map.of());
    }

    /** Nothing is so large that it is stored elsewhere. */
    static BlobWriter blobs() {
        return Partial.of(BlobWriter.class, Map.of("getMinOffloadingSize", unused -> Integer.MAX_VALUE));
    }

    static ShuffleMaster<?> shuffles() {
        return Partial.of(ShuffleMaster.class, Map.of());
    }

    static JobMasterPartitionTracker tracker() {
        return Partial.of(JobMasterPartitionTracker.class, Map.of());
    }

    static ExecutionDeploymentListener deployments() {
        return Partial.of(ExecutionDeploymentListener.class, Map.of());
    }

    static ExecutionStateUpdateListener updates() {
        return Partial.of(ExecutionStateUpdateListener.class, Map.of());
    }
}
