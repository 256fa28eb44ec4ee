package conformance.flink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.flink.metrics.groups.OperatorMetricGroup;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.streaming.api.operators.OperatorSnapshotFutures;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.runtime.tasks.SteppedTask;

/**
 * A {@link SteppedTask} and the thread in which it is restored and invoked. This class does what {@code Task} does in a
 * task manager: it calls the task, keeps its state, and cancels it.
 */
final class DeployedTask {

    static final String OPERATORS_OPEN = "operators-open";

    private static final String INITIALIZING = "initializing";
    private static final String RUNNING = "running";
    private static final String FINISHED = "finished";
    private static final String FAILED = "failed";
    private static final String CANCELED = "canceled";

    /** Makes the environment of the task. */
    interface Surroundings {
        Environment of(DeployedTask deployed);
    }

    private final Signals signals;
    private final Faults faults;
    private final Surroundings surroundings;
    private final Runnable closesNetwork;
    /** By checkpoint that was tried, what the task has acknowledged. */
    private final Map<Long, CompletableFuture<TaskStateSnapshot>> checkpoints = new HashMap<>();

    private final TurnThread thread = new TurnThread(this::live, "task");
    private volatile SteppedMailbox mailbox;
    private volatile SteppedTask task;
    /** The one that the task has left to its task manager; null in releases in which it closes that itself. */
    private ChannelStateWriter writer;
    private String state = "";
    private boolean isCanceling;
    private int selected = -1;

    /** {@code closesNetwork}: closes the gates and partitions of the task, as the canceler does. */
    DeployedTask(Signals signals, Faults faults, Surroundings surroundings, Runnable closesNetwork) {
        this.signals = signals;
        this.faults = faults;
        this.surroundings = surroundings;
        this.closesNetwork = closesNetwork;
    }

    boolean isOver() {
        return state.equals(FINISHED) || state.equals(FAILED) || state.equals(CANCELED);
    }

    /** Lets the task begin, up to its first mail or its first default action. */
    void restore() throws Exception {
        thread.run();
        settle();
    }

    String turn() throws Exception {
        if (isOver()) {
            return "over";
        }
        mailbox.beginTurn();
        thread.run();
        settle();
        return mailbox.hasActed() ? "acted" : "waits";
    }

    void select(int gate) {
        selected = gate;
        if (task != null) {
            task.select(gate);
        }
    }

    /** Lets the executor of channel state go on. */
    boolean read() throws Exception {
        boolean acted = task != null && !isOver() && task.runExecutor();
        settle();
        return acted;
    }

    /**
     * Takes a checkpoint that the checkpoint coordinator triggers in this task, because all of its producers have
     * finished. Flink has no other way into a task whose channels bring no barriers.
     */
    void checkpoint(long id, CheckpointOptions options) throws Exception {
        if (isOver()) {
            throw new CancelTaskException("the task is over");
        }
        CompletableFuture<TaskStateSnapshot> acknowledged = new CompletableFuture<>();
        checkpoints.put(id, acknowledged);
        mailbox.runNext(() -> task.triggerCheckpointAsync(new CheckpointMetaData(id, 0), options));
        thread.run();
        settle();
        if (isOver()) {
            throw new CancelTaskException("the task was over before it had taken the checkpoint");
        }
        task.runPart(id); // it waits for nothing of the scenario
        if (!acknowledged.isDone()) {
            throw new IllegalStateException("the task has neither acknowledged checkpoint " + id + " nor declined it");
        }
        try {
            acknowledged.get();
        } catch (ExecutionException declined) {
            throw (CheckpointException) declined.getCause();
        }
    }

    /** What the task acknowledged; null if it did not. */
    TaskStateSnapshot acknowledged(long checkpoint) {
        CompletableFuture<TaskStateSnapshot> done = checkpoints.get(checkpoint);
        return done == null || done.isCompletedExceptionally() ? null : done.getNow(null);
    }

    void cancel() throws Exception {
        if (!isOver()) {
            isCanceling = true;
            end();
        }
    }

    // ---- what the task calls

    void writesWith(ChannelStateWriter made) {
        writer = made;
    }

    void acknowledge(long checkpoint, TaskStateSnapshot snapshot) {
        checkpoints.get(checkpoint).complete(snapshot);
    }

    void decline(long checkpoint, CheckpointException cause) {
        checkpoints.get(checkpoint).completeExceptionally(cause);
    }

    /** As {@code Task.failExternally}. */
    void fail(Throwable cause) {
        Unusable.rethrow(cause);
        if (!isCanceling) {
            change(FAILED, words(cause));
        }
    }

    StreamOperator<Integer> operator() {
        OperatorMetricGroup metrics = UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup();
        @SuppressWarnings("unchecked")
        StreamOperator<Integer> operator =
                Partial.of(
                        StreamOperator.class,
                        Map.ofEntries(
                                Map.entry("getOperatorID", nothing -> SteppedTask.OPERATOR),
                                Map.entry("getMetricGroup", nothing -> metrics),
                                Map.entry("initializeState", nothing -> null),
                                Map.entry("open", nothing -> open()),
                                Map.entry("prepareSnapshotPreBarrier", nothing -> null),
                                Map.entry("snapshotState", nothing -> new OperatorSnapshotFutures()),
                                Map.entry("finish", nothing -> null),
                                Map.entry("close", nothing -> null),
                                Map.entry("notifyCheckpointAborted", nothing -> null),
                                Map.entry("notifyCheckpointComplete", nothing -> null)));
        return operator;
    }

    private Object open() throws Exception {
        if (faults.strike(OPERATORS_OPEN) != null) {
            throw Faults.failure(OPERATORS_OPEN);
        }
        signals.add(Json.tagged("operators-opened"));
        return null;
    }

    // ---- the thread of the task

    /** As {@code Task.doRun}. */
    private void live() {
        Throwable error = null;
        try {
            change(INITIALIZING, "");
            mailbox = new SteppedMailbox();
            task = new SteppedTask(surroundings.of(this), mailbox, operator(), selected);
            task.restore();
            if (isOver() || isCanceling) {
                throw new CancelTaskException();
            }
            change(RUNNING, "");
            task.invoke();
            change(FINISHED, "");
        } catch (Throwable thrown) {
            Unusable.rethrow(thrown);
            error = thrown;
            change(isCanceling ? CANCELED : FAILED, isCanceling ? "" : words(thrown));
        }
        try {
            if (task != null) {
                task.cleanUp(error);
            }
            if (writer != null) {
                writer.close();
            }
        } catch (Exception late) {
            throw new AssertionError("the task could not be cleaned up", late);
        }
    }

    private void change(String next, String cause) {
        if (!isOver()) {
            state = next;
            signals.add(Json.tagged("task-state-changed").put("state", next).put("cause", cause));
        }
    }

    /** Ends the threads of a task that is over, which another thread may have found out. */
    private void settle() throws Exception {
        if (isOver()) {
            end();
        }
    }

    /** As the canceler of {@code Task}, which interrupts the task until it ends. */
    private void end() throws Exception {
        if (task == null) {
            return;
        }
        if (!thread.hasEnded()) {
            task.cancel();
            closesNetwork.run();
            mailbox.free();
            thread.run();
        }
        while (task.runExecutor()) {}
    }

    /** The messages of an error and its causes. */
    private static String words(Throwable thrown) {
        List<String> all = new ArrayList<>();
        for (Throwable one = thrown; one != null; one = one.getCause()) {
            all.add(Optional.ofNullable(one.getMessage()).orElse(one.getClass().getSimpleName()));
        }
        return String.join(", because: ", all);
    }
}
