package conformance.flink.pipeline;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.WeakHashMap;
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
        if (cluster == null || !cluster.isRunning()) { // one that has failed is not what the next job is about
            while (CLUSTERS.size() >= MOST) {
                CLUSTERS.remove(CLUSTERS.keySet().iterator().next()).closeAsync();
            }
            cluster = start(plan, slots, options);
            CLUSTERS.put(key, cluster);
        }
        return cluster;
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
