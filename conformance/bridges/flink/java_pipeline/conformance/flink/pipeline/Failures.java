package conformance.flink.pipeline;

import conformance.flink.Json;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.highavailability.nonha.embedded.HaLeadershipControl;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.function.ThrowingRunnable;

/** What a scenario lets fail: user code of a task, a worker, the job master, all tasks. */
final class Failures {

    /** What user code throws. Its text begins with what was made to fail. */
    static final class MadeToFail extends FlinkRuntimeException {

        private static final long serialVersionUID = 1L;

        MadeToFail(String what) {
            super(what);
        }
    }

    /** A failure that waits for its point. */
    private record Asked(String target, int number, String point) {}

    /** A fault that is armed. */
    private static final class Fault {
        private int left;

        private Fault(int nth) {
            left = nth;
        }
    }

    /** It does one thing after the other, and not with the class loader of the task that asks for it. */
    private static final ExecutorService BEHIND =
            Executors.newSingleThreadExecutor(
                    work -> {
                        Thread thread = new Thread(work, "failures");
                        thread.setDaemon(true);
                        thread.setContextClassLoader(Failures.class.getClassLoader());
                        return thread;
                    });

    private static final long LATELY_NANOS = 1_000_000_000;

    private final LiveJob job;
    private final Map<String, Fault> faults = new HashMap<>();
    private Asked waiting;
    private boolean finished;
    private long cut; // the checkpoint of which the last snapshot was taken
    private volatile long struckAt = System.nanoTime() - LATELY_NANOS;
    private volatile int masters;
    private volatile int replaced;
    private volatile boolean isBroken;
    private volatile CompletableFuture<?> behind = CompletableFuture.completedFuture(null);
    private MiniCluster cluster;
    private JobID id;

    Failures(LiveJob job) {
        this.job = job;
    }

    /** Where the job runs. */
    void of(MiniCluster cluster, JobID id) {
        this.cluster = cluster;
        this.id = id;
    }

    /** How many job masters were lost. */
    int masters() {
        return masters;
    }

    /** In the place of how many of them others have begun. */
    int replaced() {
        return replaced;
    }

    /** Lets nothing strike any more, and waits until workers and job masters have been replaced. */
    void finish() {
        synchronized (this) {
            finished = true;
            waiting = null;
            faults.clear();
        }
        behind.join();
    }

    /** Whether a worker or a job master that was to be replaced may be missing. */
    boolean isBroken() {
        return isBroken;
    }

    /** Whether nothing is being replaced. */
    boolean isQuiet() {
        return behind.isDone();
    }

    /** Whether something may strike that waits, or has struck so lately that not all of the engine may know it. */
    synchronized boolean mayStrike() {
        return waiting != null || !faults.isEmpty() || System.nanoTime() - struckAt < LATELY_NANOS;
    }

    /** Lets one failure wait for its point; it takes the place of another one that waits. */
    synchronized void await(String target, int number, String point) {
        waiting = finished ? null : new Asked(target, number, point);
    }

    synchronized void arm(String place, int nth) {
        if (!finished) {
            faults.put(place, new Fault(nth));
        }
    }

    /** User code is at a place at which a fault may be armed. */
    synchronized void here(String place) {
        Fault fault = faults.get(place);
        if (fault != null && --fault.left == 0) {
            faults.remove(place);
            struckAt = System.nanoTime();
            job.signal(Json.tagged("fault-struck").put("place", place).put("kind", "throws"));
            throw new MadeToFail(place);
        }
    }

    /** A task takes its snapshot of a checkpoint, before which others may have taken theirs. */
    void cut(int task, long checkpoint) {
        boolean others = isBehind(checkpoint);
        here(task, "in-snapshot");
        Asked struck = others ? take("between-cuts") : null;
        if (struck != null && !now(struck)) {
            await(struck.target, struck.number, struck.point);
        }
    }

    private synchronized boolean isBehind(long checkpoint) {
        boolean behind = cut == checkpoint;
        cut = checkpoint;
        return behind;
    }

    /** A task is at a point at which a failure may wait. */
    void here(int task, String point) {
        Asked struck = take(task, point);
        if (struck == null) {
            return;
        }
        if (struck.target.equals("task")) {
            said(struck);
            throw new MadeToFail("task");
        }
        now(struck);
    }

    /** The one that waits for this point: of this task, or of something that all tasks belong to. */
    private synchronized Asked take(int task, String point) {
        boolean isOther = waiting != null && waiting.target.equals("task") && waiting.number != task;
        return isOther ? null : take(point);
    }

    private synchronized Asked take(String point) {
        if (waiting == null || !waiting.point.equals(point)) {
            return null;
        }
        Asked struck = waiting;
        waiting = null;
        return struck;
    }

    private void said(Asked struck) {
        struckAt = System.nanoTime();
        job.signal(
                Json.tagged("failure-struck")
                        .put("target", struck.target)
                        .put("number", struck.number)
                        .put("point", struck.point));
    }

    /** Whether something of the target is there that fails now. */
    boolean now(String target, int number) {
        return now(new Asked(target, number, "now"));
    }

    private boolean now(Asked struck) {
        switch (struck.target) {
            case "task":
                return failTask(struck);
            case "worker":
                return behind(struck, () -> Clusters.replace(cluster, struck.number));
            case "master":
                return behind(struck, this::replaceMaster);
            default:
                return failJob(struck);
        }
    }

    private boolean failTask(Asked struck) {
        Runnable failing =
                () -> {
                    said(struck);
                    throw new MadeToFail("task");
                };
        if (job.reader(struck.number) != null) {
            job.reader(struck.number).fail(failing);
            return true;
        }
        return job.inMailbox(struck.number, failing::run);
    }

    private boolean failJob(Asked struck) {
        for (JobPlan.Vertex vertex : job.plan.vertices) {
            SplitAssigner assigner = job.assigner(vertex.number);
            if (assigner != null) {
                said(struck);
                assigner.fail(new MadeToFail("job"));
                return true;
            }
        }
        return false;
    }

    private void replaceMaster() throws Exception {
        HaLeadershipControl control = cluster.getHaLeadershipControl().orElseThrow();
        control.revokeJobMasterLeadership(id).get();
        control.grantJobMasterLeadership(id).get();
        replaced++;
    }

    /** In another thread, since a task that waits for its own end would wait for ever. */
    private synchronized boolean behind(Asked struck, ThrowingRunnable<Exception> failing) {
        if (finished) { // the next job would have it
            return false;
        }
        masters += struck.target.equals("master") ? 1 : 0;
        said(struck);
        behind =
                CompletableFuture.runAsync(ThrowingRunnable.unchecked(failing), BEHIND)
                        .exceptionally(
                                failed -> {
                                    isBroken = true;
                                    failed.printStackTrace();
                                    return null;
                                });
        return true;
    }
}
