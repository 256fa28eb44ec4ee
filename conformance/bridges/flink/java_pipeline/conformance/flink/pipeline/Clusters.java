package conformance.flink.pipeline;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/** The clusters of this JVM. Jobs whose settings need the same cluster use the same one, one job after the other. */
final class Clusters {

    /** So many are kept. Each has threads and buffers of its own. */
    private static final int MOST = 3;
    /** A subtask of each vertex shares a slot with one of each other vertex. */
    private static final int SLOTS = 8;
    /** So long a worker that was started may take until the cluster knows it. */
    private static final long THERE_MILLIS = 5_000;

    private static final long LOOK_MILLIS = 3;

    private static final Map<String, MiniCluster> CLUSTERS = new LinkedHashMap<>(16, 0.75f, true);
    /** By cluster, the numbers of its workers, and behind them the number of the next one that is started. */
    private static final Map<MiniCluster, int[]> WORKERS = new WeakHashMap<>();

    private Clusters() {}

    static MiniCluster of(JobPlan plan) throws Exception {
        int slots = SLOTS;
        for (JobPlan.Vertex vertex : plan.vertices) {
            slots = Math.max(slots, vertex.parallelism);
        }
        Configuration options = Options.ofCluster(plan);
        String key = plan.setting("workers") + " " + slots + " " + options;
        MiniCluster cluster = CLUSTERS.get(key);
        if (cluster != null && !isWhole(cluster, plan.setting("workers"))) { // that is not what the next job is about
            drop(cluster);
            cluster = null;
        }
        if (cluster == null) {
            while (CLUSTERS.size() >= MOST) {
                CLUSTERS.remove(CLUSTERS.keySet().iterator().next()).closeAsync();
            }
            cluster = start(plan, slots, options);
            CLUSTERS.put(key, cluster);
        }
        return cluster;
    }

    /** Whether it has all of its workers. A fatal error ends one of them, and nobody starts another one then. */
    private static boolean isWhole(MiniCluster cluster, int workers) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(THERE_MILLIS);
        try {
            while (cluster.isRunning()) {
                long left = end - System.nanoTime();
                if (cluster.requestClusterOverview().get(left, TimeUnit.NANOSECONDS).getNumTaskManagersConnected()
                        >= workers) {
                    return true;
                }
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (ExecutionException | TimeoutException | IllegalStateException failed) {
            // It is ending, or so slow that a job would wait.
        }
        return false;
    }

    /** The next job does not get this one. */
    static void drop(MiniCluster cluster) {
        CLUSTERS.values().remove(cluster);
        cluster.closeAsync();
    }

    private static MiniCluster start(JobPlan plan, int slots, Configuration options) throws Exception {
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(options)
                                .setNumTaskManagers(plan.setting("workers"))
                                .setNumSlotsPerTaskManager(slots)
                                .setHaServices(MiniCluster.HaServices.WITH_LEADERSHIP_CONTROL)
                                .withRandomPorts()
                                .build());
        cluster.start();
        WORKERS.put(cluster, IntStream.rangeClosed(0, plan.setting("workers")).toArray());
        return cluster;
    }

    /** Ends a worker, and starts another one in its place. */
    static void replace(MiniCluster cluster, int worker) throws Exception {
        int[] numbers = WORKERS.get(cluster);
        synchronized (numbers) {
            cluster.terminateTaskManager(numbers[worker]).get();
            cluster.startTaskManager();
            numbers[worker] = numbers[numbers.length - 1]++;
        }
    }
}
