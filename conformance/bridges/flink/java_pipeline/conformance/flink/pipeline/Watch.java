package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import conformance.flink.Errors;
import conformance.flink.Json;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongPredicate;
import java.util.stream.IntStream;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CheckpointStatsStatus;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.checkpoint.FailedCheckpointStats;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecution;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.executiongraph.ErrorInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.util.SerializedThrowable;

/** What the execution graph of a job says, and its statistics of checkpoints, as signals. Nothing is read from a log. */
final class Watch {

    private static final long ANSWER_MILLIS = 2_000;
    /** What tasks fail of when a worker is lost, those on it and those that are connected with it. */
    private static final List<String> OF_A_LOST_WORKER =
            List.of(
                    "The TaskExecutor is shutting down",
                    "no longer reachable",
                    "RemoteTransportException",
                    "LocalTransportException",
                    "PartitionConnectionException",
                    "PartitionNotFoundException",
                    "TaskManager with id");
    private static final List<ExecutionState> SAID =
            List.of(
                    ExecutionState.INITIALIZING,
                    ExecutionState.RUNNING,
                    ExecutionState.FINISHED,
                    ExecutionState.FAILED,
                    ExecutionState.CANCELED);

    /** A checkpoint that was triggered. */
    static final class Checkpoint {

        final String kind;
        final CompletableFuture<?> result;
        boolean hasEnded;
        boolean isCompleted;
        String location;

        /** {@code result}: null, if nobody has asked for it. */
        Checkpoint(String kind, CompletableFuture<?> result) {
            this.kind = kind;
            this.result = result;
        }

        boolean isSavepoint() {
            return kind.equals("savepoint");
        }
    }

    /** A signal, with the time at which what it says has happened. */
    private record Timed(long at, int order, ObjectNode signal) {}

    final TreeMap<Long, Checkpoint> checkpoints = new TreeMap<>();
    private final JobPlan plan;
    private final Restores restores;
    private final LongPredicate noticed; // whether a task was notified that a checkpoint is complete
    /** By task: how many of its attempts and of the states of the last one were said. */
    private final int[] attempts;
    /** By task: behind the restore of its last attempt, the number of the next one. */
    private final int[] next;

    private final Set<ExecutionState>[] states;
    private final boolean[] running;
    private final boolean[] finished;
    private final String configured; // of which kind checkpoints are
    private JobStatus status;
    private boolean isOver;
    private int masters;
    private String master; // the id of the graph that was looked at last, which each job master makes anew

    @SuppressWarnings({"unchecked", "rawtypes"})
    Watch(JobPlan plan, Restores restores, LongPredicate noticed) throws BadRequest {
        this.plan = plan;
        this.restores = restores;
        this.noticed = noticed;
        configured = configuredKind(plan);
        attempts = new int[plan.tasks];
        next = new int[plan.tasks];
        states = new Set[plan.tasks];
        Arrays.setAll(states, task -> new HashSet<>());
        running = new boolean[plan.tasks];
        finished = new boolean[plan.tasks];
    }

    /** Of which kind checkpoints are, savepoints apart. */
    String configured() {
        return configured;
    }

    private static String configuredKind(JobPlan plan) throws BadRequest {
        if (!plan.isSet("unaligned")) {
            return "aligned";
        }
        return plan.setting("alignment_timeout") == 0 ? "unaligned" : "timeoutable";
    }

    /** How many have begun in the place of one that was lost. */
    int masters() {
        return masters;
    }

    boolean isOver() {
        return isOver;
    }

    boolean[] finished() {
        return finished;
    }

    boolean runs() {
        for (boolean one : running) {
            if (!one) {
                return false;
            }
        }
        return true;
    }

    boolean isPending() {
        return checkpoints.values().stream().anyMatch(one -> !one.hasEnded);
    }

    /** Whether the statistics are older than a notice: a task was told that one is complete which they call pending. */
    boolean isBehind() {
        return checkpoints.entrySet().stream().anyMatch(one -> !one.getValue().hasEnded && noticed.test(one.getKey()));
    }

    /** How many checkpoints are pending. Flink counts savepoints, too. */
    int pending() {
        return (int) checkpoints.values().stream().filter(one -> !one.hasEnded).count();
    }

    /** The newest one that is complete and no savepoint; 0: none. */
    long newestCompleted() {
        long newest = plan.restored;
        for (Map.Entry<Long, Checkpoint> one : checkpoints.entrySet()) {
            if (one.getValue().isCompleted && !one.getValue().isSavepoint()) {
                newest = one.getKey();
            }
        }
        return newest;
    }

    /** The checkpoints that the statistics know and that nobody was told of, with what they are. */
    TreeMap<Long, CheckpointProperties> unknown(AccessExecutionGraph graph) {
        TreeMap<Long, CheckpointProperties> found = new TreeMap<>();
        CheckpointStatsSnapshot statistics = graph.getCheckpointStatsSnapshot();
        if (statistics != null) {
            for (AbstractCheckpointStats one : statistics.getHistory().getCheckpoints()) {
                if (!checkpoints.containsKey(one.getCheckpointId())) {
                    found.put(one.getCheckpointId(), one.getProperties());
                }
            }
        }
        return found;
    }

    /**
     * What has happened since the graph was looked at last, in the order in which it has happened. {@code replaced}: so
     * many job masters had been replaced when the graph was asked for, also such as had no graph yet.
     */
    List<ObjectNode> look(AccessExecutionGraph graph, int replaced) {
        List<Timed> found = new ArrayList<>();
        List<ObjectNode> signals = new ArrayList<>();
        status = graph.getState();
        CheckpointStatsSnapshot statistics = graph.getCheckpointStatsSnapshot();
        String now = master(graph);
        if (now == null) { // none has begun
            Arrays.fill(running, false);
        } else if (!now.equals(master)) {
            if (master != null) {
                begin(graph, statistics, signals);
            }
            master = now;
        }
        masters = now == null ? masters : Math.max(masters, replaced);
        begins(graph, statistics, found);
        ends(statistics, found);
        tasks(graph, statistics, found);
        found.sort(Comparator.comparingLong(Timed::at).thenComparingInt(Timed::order));
        found.forEach(one -> signals.add(one.signal));
        if (!isOver && status.isGloballyTerminalState()) {
            isOver = true;
            checkpoints.forEach((number, one) -> endWithJob(number, one, signals));
            ObjectNode over = Json.tagged("job-over").put("status", status.name().toLowerCase());
            ErrorInfo cause = graph.getFailureInfo();
            signals.add(status == JobStatus.FAILED && cause != null ? over.put("cause", text(cause)) : over);
        }
        return signals;
    }

    /** With the id of its graph the ids of all attempts begin. Null: the job master has no graph yet. */
    private static String master(AccessExecutionGraph graph) {
        for (AccessExecutionVertex one : graph.getAllExecutionVertices()) {
            return one.getCurrentExecutionAttempt().getAttemptId().toString().split("_")[0];
        }
        return null;
    }

    /**
     * Another master begins. Of what was pending for the one before, that was complete which it restores, of which a task
     * was notified, or whoever asked for it.
     */
    private void begin(AccessExecutionGraph graph, CheckpointStatsSnapshot statistics, List<ObjectNode> signals) {
        int begun = restores.before(scheduled(graph));
        long point = begun < 0 ? point(statistics) : restores.get(begun).checkpoint();
        String location = point > 0 && point(statistics) == point ? location(statistics) : "";
        masters++;
        checkpoints.forEach(
                (number, one) -> {
                    if (!one.hasEnded && (number == point || noticed.test(number) || isDone(one.result))) {
                        one.hasEnded = true;
                        one.isCompleted = true;
                        one.location = number == point ? location : location(one.result);
                        signals.add(completed(number, one));
                    } else {
                        endWithJob(number, one, signals);
                    }
                });
        if (point > plan.restored && !checkpoints.containsKey(point)) { // the lost one has told nobody of it
            Checkpoint one = new Checkpoint(configured, null);
            one.hasEnded = true;
            one.isCompleted = true;
            one.location = location;
            checkpoints.put(point, one);
            signals.add(begun(point, configured));
            signals.add(completed(point, one));
        }
        Arrays.fill(attempts, 0);
        Arrays.fill(next, begun + 1);
        Arrays.stream(states).forEach(Set::clear);
        ObjectNode restarted = Json.tagged("job-restarted").put("checkpoint", point);
        restarted.set("tasks", Records.runs(IntStream.range(0, plan.tasks).toArray()));
        signals.add(restarted);
    }

    /** When the first attempt was scheduled. */
    private static long scheduled(AccessExecutionGraph graph) {
        long first = Long.MAX_VALUE;
        for (AccessExecutionVertex one : graph.getAllExecutionVertices()) {
            AccessExecution now = one.getCurrentExecutionAttempt();
            AccessExecution attempt = now.getAttemptNumber() == 0 ? now : earlier(one, 0);
            long at = attempt == null ? 0 : attempt.getStateTimestamp(ExecutionState.SCHEDULED);
            first = at > 0 ? Math.min(first, at) : first;
        }
        return first;
    }

    /** Whether the statistics do not tell yet of what was restored last, before the graph was asked for. */
    static boolean isBehind(AccessExecutionGraph graph, long restored) {
        return restored > 0 && point(graph.getCheckpointStatsSnapshot()) != restored;
    }

    private static boolean isDone(CompletableFuture<?> result) {
        return result != null && result.isDone() && !result.isCompletedExceptionally();
    }

    /** Where a savepoint is, if whoever asked for it was told. */
    private static String location(CompletableFuture<?> result) {
        return isDone(result) && result.join() instanceof String ? (String) result.join() : "";
    }

    private static String location(CheckpointStatsSnapshot statistics) {
        return statistics.getLatestRestoredCheckpoint().getExternalPath();
    }

    private static ObjectNode completed(long number, Checkpoint one) {
        return Json.tagged("checkpoint-completed").put("checkpoint", number).put("kind", one.kind);
    }

    private void endWithJob(long number, Checkpoint one, List<ObjectNode> signals) {
        if (!one.hasEnded) {
            one.hasEnded = true;
            signals.add(failed(number, reason(one.result)));
        }
    }

    /** Nobody has asked for them: when all data has come to its end, Flink triggers one. */
    private void begins(AccessExecutionGraph graph, CheckpointStatsSnapshot statistics, List<Timed> found) {
        unknown(graph)
                .forEach(
                        (number, properties) -> {
                            String kind = properties.isSavepoint() ? "savepoint" : configured;
                            checkpoints.put(number, new Checkpoint(kind, null));
                            long at = statistics.getHistory().getCheckpointById(number).getTriggerTimestamp();
                            found.add(new Timed(at, -1, begun(number, kind)));
                        });
    }

    private static ObjectNode begun(long number, String kind) {
        return Json.tagged("checkpoint-begun").put("checkpoint", number).put("kind", kind);
    }

    private void ends(CheckpointStatsSnapshot statistics, List<Timed> found) {
        if (statistics == null) {
            return;
        }
        for (AbstractCheckpointStats one : statistics.getHistory().getCheckpoints()) {
            Checkpoint checkpoint = checkpoints.get(one.getCheckpointId());
            boolean ended = one.getStatus() != CheckpointStatsStatus.IN_PROGRESS;
            if (checkpoint == null || checkpoint.hasEnded || !ended) {
                continue;
            }
            checkpoint.hasEnded = true;
            long at = one.getTriggerTimestamp() + Math.max(0, one.getEndToEndDuration());
            ObjectNode signal;
            if (one.getStatus() == CheckpointStatsStatus.COMPLETED) {
                checkpoint.isCompleted = true;
                checkpoint.location = ((CompletedCheckpointStats) one).getExternalPath();
                signal = completed(one.getCheckpointId(), checkpoint);
            } else {
                // The answer comes later, and may be that of another request if Flink has triggered one by itself.
                String reason = reason(((FailedCheckpointStats) one).getFailureMessage());
                signal = failed(one.getCheckpointId(), reason);
            }
            found.add(new Timed(at, 0, signal));
        }
    }

    private static ObjectNode failed(long number, String reason) {
        return Json.tagged("checkpoint-failed").put("checkpoint", number).put("reason", reason);
    }

    /** Why a checkpoint has failed, as the statistics tell: with what a {@code CheckpointException} ends. */
    private static String reason(String message) {
        for (CheckpointFailureReason one : CheckpointFailureReason.values()) {
            if (message != null && message.endsWith(one.message()) && Errors.name(one) != null) {
                return Errors.name(one);
            }
        }
        return "task-closing";
    }

    /** Why a checkpoint has failed, as its trigger was told. */
    private static String reason(CompletableFuture<?> result) {
        CheckpointException failed = result == null ? null : failure(result);
        String name = failed == null ? null : Errors.name(failed.getCheckpointFailureReason());
        return name == null ? "task-closing" : name; // it has failed with the tasks or with the job
    }

    /** Null: it has not failed, or for no reason that has to do with checkpoints. */
    static CheckpointException failure(CompletableFuture<?> result) {
        try {
            result.get(ANSWER_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | InterruptedException none) {
            return null;
        } catch (Exception failed) {
            for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
                Throwable one = cause instanceof SerializedThrowable
                                ? ((SerializedThrowable) cause).deserializeError(Watch.class.getClassLoader())
                                : cause;
                if (one instanceof CheckpointException) {
                    return (CheckpointException) one;
                }
            }
        }
        return null;
    }

    private void tasks(AccessExecutionGraph graph, CheckpointStatsSnapshot statistics, List<Timed> found) {
        Map<Integer, List<Integer>> restarted = new TreeMap<>(); // by the number of the restore; -1: of none
        long unknown = Long.MAX_VALUE; // when the first attempt was made of which no restore is known
        for (AccessExecutionJobVertex vertex : graph.getVerticesTopologically()) {
            JobPlan.Vertex planned = planned(vertex);
            for (AccessExecutionVertex one : vertex.getTaskVertices()) {
                int task = planned.firstTask + one.getParallelSubtaskIndex();
                AccessExecution now = one.getCurrentExecutionAttempt();
                for (int number = attempts[task]; number <= now.getAttemptNumber(); number++) {
                    AccessExecution attempt = number == now.getAttemptNumber() ? now : earlier(one, number);
                    if (number > attempts[task]) {
                        states[task].clear();
                        long created = attempt == null ? 0 : attempt.getStateTimestamp(ExecutionState.CREATED);
                        int restore = restores.of(created, next[task]);
                        restarted.computeIfAbsent(restore, ignored -> new ArrayList<>()).add(task);
                        if (restore < 0) { // it has failed before anything was restored
                            unknown = Math.min(unknown, created);
                        } else {
                            next[task] = restore + 1;
                        }
                    }
                    if (attempt != null) {
                        changes(task, attempt, number == now.getAttemptNumber(), found);
                    }
                }
                attempts[task] = now.getAttemptNumber();
                finished[task] = now.getState() == ExecutionState.FINISHED;
                running[task] = finished[task] || now.getState() == ExecutionState.RUNNING;
            }
        }
        for (Map.Entry<Integer, List<Integer>> one : restarted.entrySet()) {
            boolean isKnown = one.getKey() >= 0;
            long point = isKnown ? restores.get(one.getKey()).checkpoint() : point(statistics);
            int[] tasks = one.getValue().stream().mapToInt(Integer::intValue).distinct().sorted().toArray();
            ObjectNode signal = Json.tagged("job-restarted").put("checkpoint", point);
            signal.set("tasks", Records.runs(tasks));
            found.add(new Timed(isKnown ? restores.get(one.getKey()).at() : unknown, 2, signal));
        }
    }

    private static AccessExecution earlier(AccessExecutionVertex vertex, int number) {
        for (AccessExecution one : vertex.getExecutionHistory().getHistoricalExecutions()) {
            if (one.getAttemptNumber() == number) {
                return one;
            }
        }
        return null;
    }

    /** The checkpoint that was restored last. */
    private static long point(CheckpointStatsSnapshot statistics) {
        boolean none = statistics == null || statistics.getLatestRestoredCheckpoint() == null;
        return none ? 0 : statistics.getLatestRestoredCheckpoint().getCheckpointId();
    }

    private void changes(int task, AccessExecution attempt, boolean isLast, List<Timed> found) {
        for (ExecutionState state : SAID) {
            long at = attempt.getStateTimestamp(state);
            // The graph may have the state of a task that has failed before it has the cause.
            boolean isEarly =
                    state == ExecutionState.FAILED
                            && isLast
                            && attempt.getFailureInfo().isEmpty()
                            && !status.isGloballyTerminalState();
            if (at > 0 && !isEarly && states[task].add(state)) {
                ObjectNode signal =
                        Json.tagged("job-task-changed").put("task", task).put("state", state.name().toLowerCase());
                if (state == ExecutionState.FAILED && attempt.getFailureInfo().isPresent()) {
                    signal.put("cause", text(attempt.getFailureInfo().get()));
                }
                // Of one millisecond, what an attempt has come to is said before others begin, but its own begin first.
                found.add(new Timed(at, SAID.indexOf(state) < 2 && at != end(attempt) ? 3 : 1, signal));
            }
        }
    }

    /** When an attempt was over; 0: it is not. */
    private static long end(AccessExecution attempt) {
        return SAID.subList(2, SAID.size()).stream().mapToLong(attempt::getStateTimestamp).max().orElse(0);
    }

    private JobPlan.Vertex planned(AccessExecutionJobVertex vertex) {
        for (JobPlan.Vertex one : plan.vertices) {
            if (vertex.getName().endsWith(one.name())) {
                return one;
            }
        }
        throw new IllegalStateException("nobody has planned the vertex " + vertex.getName());
    }

    /** What was made to fail, if that is among the causes, else everything. What was suppressed has caused nothing. */
    static String text(ErrorInfo error) {
        String all = error.getExceptionAsString();
        String made = Failures.MadeToFail.class.getName() + ": ";
        for (String line : all.split("\n")) {
            int at = line.startsWith("\t") ? -1 : line.indexOf(made); // frames, and what was suppressed, are indented
            if (at >= 0) {
                return line.substring(at + made.length());
            }
        }
        if (all.contains(": Stop-with-savepoint failed.")) { // a task that has taken its part is told of the abort
            return "stop: " + all;
        }
        return OF_A_LOST_WORKER.stream().anyMatch(all::contains) ? "worker: " + all : all;
    }
}
