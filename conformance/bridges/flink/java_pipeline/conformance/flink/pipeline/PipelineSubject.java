package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import conformance.flink.Subject;
import java.io.FileNotFoundException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** One job behind the port. It is submitted with the first call. */
final class PipelineSubject implements Subject {

    private static final long LOOK_MILLIS = 3;
    /** While Flink writes statistics, whoever asks for them has older ones: so often they are asked for again. */
    private static final int LOOKS = 5;
    /** How long a graph or a checkpoint may take to be there. Each answer has a minute. */
    private static final long THERE_MILLIS = 14_000;
    /** After so long a request to cancel the job is asked again. */
    private static final long CANCEL_MILLIS = 4_000;
    /** Who waits gives up when nothing has happened for so long. It says only that it has not come to that. */
    private static final long PATIENCE_MILLIS = 2_000;
    /** The same while tasks are deployed and opened, of which nothing is heard for long on a machine that is busy. */
    private static final long BEGINNING_MILLIS = 12_000;
    /** The same if operators stand still: data has come as far as it can, or will come later. */
    private static final long STILL_MILLIS = 60;
    /** How long Flink may take to trigger the checkpoint in which a job takes part whose sources have ended. */
    private static final long ENDING_MILLIS = 1_000;

    private final LiveJob job;
    private final Watch watch;
    private final ArrayNode signals = Json.array();
    private MiniCluster cluster;
    private JobID id;
    private boolean isReleased;
    private Watch.Checkpoint stopping; // the savepoint with which the job is being stopped
    private long stopped; // its number

    PipelineSubject(JobPlan plan) {
        try {
            job = new LiveJob(plan, World.of(plan));
            watch = new Watch(plan, job.restored, job::wasNoticed);
            cluster = Clusters.of(plan);
            job.restores(plan.restored > 0);
            JobGraph graph = Graph.of(job);
            id = graph.getJobID();
            job.failures.of(cluster, id);
            cluster.submitJob(graph).get();
        } catch (Exception failed) {
            throw new IllegalStateException("the job was not submitted", failed);
        }
    }

    @Override
    public ArrayNode takeSignals() {
        if (signals.isEmpty()) {
            return null;
        }
        ArrayNode taken = signals.deepCopy();
        signals.removeAll();
        return taken;
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "supply":
                if (isLive()) {
                    job.supply(arguments.index(0), arguments.index(1));
                }
                return null;
            case "end":
                job.end(arguments.index(0));
                return null;
            case "throttle":
                job.throttle(arguments.index(0), arguments.truth(1));
                return null;
            case "trigger":
                return trigger(arguments.text(0));
            case "fail":
                return fail(arguments.text(0), arguments.index(1), arguments.text(2));
            case "fault":
                return fault(arguments);
            case "cancel":
                cancel();
                return null;
            case "stop_with_savepoint":
                return stop();
            case "settle":
                return settle(arguments.text(0));
            case "snapshot":
                return snapshot(arguments.number(0));
            case "state":
                return state(job.plan.vertices.get(arguments.index(0)));
            case "output":
                int[] output = job.output(arguments.index(0)); // what is committed meanwhile is said with this answer
                listen();
                return Records.runs(output);
            case "resources":
                listen();
                return Json.object();
            case "release":
                release();
                return null;
            default:
                throw new BadRequest("a job has no operation " + method + " here");
        }
    }

    private boolean isLive() {
        return !isReleased && !watch.isOver();
    }

    // ---- what has happened

    /** Nobody has it while the job has no master. */
    private AccessExecutionGraph graph() throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(THERE_MILLIS);
        while (true) {
            try {
                return cluster.getExecutionGraph(id).get();
            } catch (ExecutionException none) {
                if (System.nanoTime() > end) {
                    throw none;
                }
                Thread.sleep(LOOK_MILLIS);
            }
        }
    }

    /**
     * Notes what has happened. What was committed was asked for first and is said last, behind the completion of its
     * checkpoint; what was made to fail is asked for last and said first.
     */
    private AccessExecutionGraph listen() throws Exception {
        if (isReleased) {
            return null;
        }
        // Which checkpoint the master has completed that was lost, only the next one says.
        List<ObjectNode> committed = job.failures.masters() > watch.masters() ? List.of() : job.takeCommits();
        AccessExecutionGraph graph = look();
        for (int again = 0; !committed.isEmpty() && watch.isBehind() && again < LOOKS; again++) {
            Thread.sleep(LOOK_MILLIS);
            graph = look();
        }
        committed.forEach(signals::add);
        job.restores(watch.newestCompleted() > 0);
        if (watch.isOver()) {
            endWithCommits();
        }
        return graph;
    }

    /** What has struck was asked for behind the graph, and is said in front of what it has done. */
    private AccessExecutionGraph look() throws Exception {
        int replaced = job.failures.replaced();
        long restored = job.restored.last();
        AccessExecutionGraph graph = graph();
        for (int again = 0; Watch.isBehind(graph, restored) && again < LOOKS; again++) {
            Thread.sleep(LOOK_MILLIS);
            graph = graph();
        }
        job.takeSignals().forEach(signals::add);
        watch.look(graph, replaced).forEach(signals::add);
        return graph;
    }

    /** That the job is over comes last. */
    private void endWithCommits() {
        for (int at = 0; at < signals.size(); at++) {
            if (signals.get(at).get("type").textValue().equals("job-over")) {
                ObjectNode over = (ObjectNode) signals.remove(at);
                job.takeCommits().forEach(signals::add);
                signals.add(over);
                return;
            }
        }
    }

    // ---- checkpoints

    private ObjectNode trigger(String kind) throws Exception {
        boolean isSavepoint = kind.equals("savepoint");
        int known = watch.checkpoints.size();
        if (watch.isPending() || job.isEnded()) { // else at once, since operators go on
            listen();
        }
        if (!isLive()) {
            return refused("over");
        }
        if (watch.checkpoints.size() > known) { // Flink has triggered one meanwhile, which is said with this answer
            return refused("too-many");
        }
        // Flink would let the request wait until another checkpoint has ended, of which the port knows nothing.
        if (!isSavepoint && watch.pending() >= (job.plan.isSet("unaligned") ? 1 : job.plan.setting("concurrent"))) {
            return refused("too-many");
        }
        CompletableFuture<?> result =
                isSavepoint
                        ? cluster.triggerSavepoint(id, folder(), false, SavepointFormatType.CANONICAL)
                        : cluster.triggerCheckpoint(id, CheckpointType.CONFIGURED);
        return isSavepoint
                ? triggered("savepoint", kind, one -> one.isSavepoint() && !one.isSynchronous(), result)
                : triggered(watch.configured(), kind, one -> !one.isSavepoint(), result);
    }

    /** Waits until the checkpoint has a number, or is refused. What ends it is said later. */
    private ObjectNode triggered(
            String kind, String wanted, Predicate<CheckpointProperties> isMine, CompletableFuture<?> result)
            throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(THERE_MILLIS);
        while (true) {
            // A request that waits for something else may become a checkpoint later, of which nobody hears.
            boolean done = result.isDone() || System.nanoTime() > end;
            // Flink may have triggered one by itself meanwhile, which is no savepoint, and is said with this answer.
            TreeMap<Long, CheckpointProperties> found = watch.unknown(graph());
            Optional<Long> mine = found.keySet().stream().filter(one -> isMine.test(found.get(one))).findFirst();
            if (mine.isPresent()) {
                long number = mine.get();
                watch.checkpoints.put(number, new Watch.Checkpoint(kind, result));
                if (found.size() > 1) {
                    listen();
                }
                ObjectNode answer = Json.object().put("checkpoint", number);
                return kind.equals(wanted) ? answer : answer.put("kind", kind);
            }
            if (done) {
                listen(); // why it is refused
                return refused(watch.isOver() ? "over" : refusal(result));
            }
            Thread.sleep(1);
        }
    }

    private String refusal(CompletableFuture<?> result) {
        CheckpointException failed = Watch.failure(result);
        CheckpointFailureReason reason = failed == null ? null : failed.getCheckpointFailureReason();
        if (reason == CheckpointFailureReason.TOO_MANY_CHECKPOINT_REQUESTS) {
            return "too-many";
        }
        boolean isStopping = stopping != null && (!stopping.hasEnded || stopping.isCompleted);
        return isStopping ? "stopping" : "not-running";
    }

    private static ObjectNode refused(String reason) {
        return Json.object().put("refused", reason);
    }

    private String folder() {
        return job.world.folder.toUri().toString();
    }

    private ObjectNode stop() throws Exception {
        int known = watch.checkpoints.size();
        listen();
        if (!isLive()) {
            return refused("over");
        }
        if (watch.checkpoints.size() > known) {
            return refused("too-many");
        }
        ObjectNode answer =
                triggered(
                        "savepoint",
                        "savepoint",
                        CheckpointProperties::isSynchronous,
                        cluster.stopWithSavepoint(id, folder(), false, SavepointFormatType.CANONICAL));
        if (answer.has("checkpoint")) {
            stopped = answer.get("checkpoint").longValue();
            stopping = watch.checkpoints.get(stopped);
        }
        return answer;
    }

    private ObjectNode snapshot(long number) throws Exception {
        Watch.Checkpoint one = watch.checkpoints.get(number);
        boolean isThere = one != null && one.isCompleted; // what completes meanwhile is said with this answer
        listen();
        if (!isThere) {
            return null;
        }
        ObjectNode checkpoint = Json.object().put("checkpoint", number).put("kind", one.kind);
        ArrayNode parallelism = checkpoint.putArray("parallelism");
        job.plan.vertices.forEach(vertex -> parallelism.add(vertex.parallelism));
        // Once a source has ended or the job was stopped, a reader may have finished: what it has read is stored no
        // more. Where the last checkpoint of a master is that was lost may be known to nobody.
        if (!job.isAnyEnded() && !isBehindTheStop(number) && !one.location.isEmpty()) {
            try {
                StoredSplits.say(job.plan, one.location, checkpoint);
            } catch (NoSuchFileException | FileNotFoundException deleted) { // a job that has finished keeps savepoints
                listen();
                if (isLive()) {
                    throw deleted;
                }
            }
        }
        return checkpoint.put("location", one.location);
    }

    /** Whether a checkpoint is newer than the savepoint with which the job is stopped, unless that has failed. */
    private boolean isBehindTheStop(long number) {
        return stopping != null && number > stopped && (stopping.isCompleted || !stopping.hasEnded);
    }

    /** What readers have, and what was counted in front of the last watermark. */
    private ArrayNode state(JobPlan.Vertex vertex) {
        ArrayNode states = Json.array();
        for (int task = vertex.firstTask; task < vertex.firstTask + vertex.parallelism; task++) {
            ObjectNode state = states.addObject();
            SplitReader reader = job.reader(task);
            if (reader != null) {
                ArrayNode splits = state.putArray("splits");
                new TreeMap<>(reader.offsets())
                        .forEach((split, offset) -> new Split(split, offset).sayIn(splits));
            }
            if (vertex.kind.equals("count")) {
                ArrayNode records = state.putArray("records");
                for (int[] run : job.counted(task)) {
                    records.addObject().put("first", run[0]).put("last", run[1]).put("step", Records.KEYS);
                }
            }
        }
        return states;
    }

    // ---- failures

    private boolean fail(String target, int number, String point) throws Exception {
        listen();
        if (!isLive()) {
            return false;
        }
        if (point.equals("now")) {
            return job.failures.now(target, number);
        }
        job.failures.await(target, number, point);
        return true;
    }

    private boolean fault(Arguments arguments) throws Exception {
        listen();
        Set<String> places = Set.of("operators-open", "operator-snapshot", "commit", "operator-coordinator");
        if (!isLive() || !places.contains(arguments.text(0))) {
            return false;
        }
        job.failures.arm(arguments.text(0), arguments.has(2) ? arguments.index(2) : 1);
        return true;
    }

    // ---- waiting

    private boolean settle(String until) throws Exception {
        long seen = -1;
        long since = System.nanoTime();
        boolean probed = false;
        while (true) {
            boolean quiet = job.failures.isQuiet(); // before the graph is asked for, which shows what was replaced
            listen();
            if (isReleased) {
                return false;
            }
            if (until.equals("over") ? watch.isOver() : hasCome(until)) {
                return true;
            }
            boolean still = job.isAnyThrottled();
            if (until.equals("idle") && !watch.isOver() && !still && quiet && isCalm()) {
                if (!probed) {
                    job.beginProbe();
                    probed = true;
                } else if (job.hasArrived(watch.finished(), watch.newestCompleted()) && !mayGoOn(since)) {
                    listen();
                    if (isCalm()) {
                        return true;
                    }
                }
            } else {
                probed = false;
            }
            if (watch.isOver()) {
                return false;
            }
            long now = job.progress.get() + signals.size();
            if (now != seen) {
                seen = now;
                since = System.nanoTime();
            }
            long patience =
                    !still || until.equals("no-checkpoint")
                            ? (still || watch.runs() ? PATIENCE_MILLIS : BEGINNING_MILLIS)
                            : until.equals("idle") ? STILL_MILLIS : 5 * STILL_MILLIS;
            if (System.nanoTime() - since > TimeUnit.MILLISECONDS.toNanos(patience)) {
                return false;
            }
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private boolean hasCome(String until) {
        switch (until) {
            case "no-checkpoint":
                return !watch.isPending();
            case "running":
                return watch.isOver() || watch.runs();
            default:
                return false;
        }
    }

    /**
     * Whether something may be about to happen of which the graph does not tell yet: Flink triggers a checkpoint by
     * itself, since all data has come to its end, or a failure strikes, or the job master hears of one.
     */
    private boolean mayGoOn(long since) {
        long patience = job.isEnded() ? ENDING_MILLIS : job.failures.mayStrike() ? STILL_MILLIS : 0;
        return System.nanoTime() - since < TimeUnit.MILLISECONDS.toNanos(patience);
    }

    /** Whether all tasks run, nothing is pending, and all that exists was emitted. */
    private boolean isCalm() {
        return watch.runs() && !watch.isPending() && job.isEmitted(watch.finished());
    }

    // ---- the end

    /** A request is asked again that is lost with the job master, or has failed since the job has ended meanwhile. */
    private void cancel() throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(THERE_MILLIS);
        listen();
        while (isLive()) {
            try {
                cluster.cancelJob(id).get(CANCEL_MILLIS, TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException | ExecutionException lost) {
                if (System.nanoTime() > end) {
                    throw lost;
                }
                listen();
            }
        }
    }

    private void release() throws Exception {
        if (isReleased) {
            return;
        }
        job.failures.finish();
        job.close();
        listen();
        boolean live = isLive();
        isReleased = true;
        if (job.failures.isBroken()) { // without a job master nobody would hear that the job is cancelled
            Clusters.drop(cluster);
        } else if (live) {
            try {
                cluster.cancelJob(id).get();
                cluster.requestJobResult(id).get();
            } catch (ExecutionException over) {
                // It has ended meanwhile.
            }
        }
        job.forget(); // until here its tasks may begin anew
    }

    /** The next job begins, and nobody has released this one. */
    void abandon() {
        try {
            release();
        } catch (Exception left) { // it may still have its slots, and the next job is not about that
            isReleased = true;
            job.forget();
            Clusters.drop(cluster);
        }
    }
}
