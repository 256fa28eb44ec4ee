package conformance.flink.coordinator;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.util.FlinkException;

/** The user's coordinator: it signals its calls, and keeps the gateways and the futures of checkpoints. */
final class UserCoordinator implements OperatorCoordinator {

    private final Context context;
    private final Signals signals;
    private final Map<Long, SubtaskGateway> gateways = new HashMap<>();
    private final Map<Long, Deque<CompletableFuture<byte[]>>> checkpoints = new HashMap<>();

    UserCoordinator(Context context, Signals signals) {
        this.context = context;
        this.signals = signals;
    }

    // ---- what the coordinator does in its own thread

    void send(Message event) {
        SubtaskGateway gateway = gateways.get(key(event.subtask, event.attempt));
        if (gateway == null) {
            throw new NoSuchElementException("no gateway of subtask " + event.subtask + ", attempt " + event.attempt);
        }
        signals.watch(event, gateway.sendEvent(event));
    }

    /** Completes the future of a checkpoint with its state, which is of no interest, or exceptionally. */
    void cut(long checkpoint, boolean succeeds) {
        CompletableFuture<byte[]> asked = checkpoints.getOrDefault(checkpoint, new ArrayDeque<>()).remove();
        if (succeeds) {
            asked.complete(new byte[] {1});
        } else {
            asked.completeExceptionally(new FlinkException("the coordinator failed to take its snapshot"));
        }
    }

    void failJob() {
        context.failJob(new FlinkException("the coordinator failed"));
    }

    // ---- notifications of the coordinator

    @Override
    public void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
        gateways.put(key(subtask, attempt), gateway);
        signals.attempt("subtask-ready", subtask, attempt);
    }

    @Override
    public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {
        signals.attempt("subtask-failed", subtask, attempt);
    }

    @Override
    public void subtaskReset(int subtask, long checkpoint) {
        signals.subtaskReset(subtask, checkpoint);
    }

    @Override
    public void resetToCheckpoint(long checkpoint, byte[] state) {
        signals.checkpoint("coordinator-reset", checkpoint);
    }

    @Override
    public void handleEventFromOperator(int subtask, int attempt, OperatorEvent report) {
        signals.received(subtask, attempt, (Message) report);
    }

    @Override
    public void checkpointCoordinator(long checkpoint, CompletableFuture<byte[]> asked) {
        checkpoints.computeIfAbsent(checkpoint, unused -> new ArrayDeque<>()).add(asked);
        signals.checkpoint("checkpoint-requested", checkpoint);
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
        signals.checkpoint("checkpoint-complete-notified", checkpoint);
    }

    @Override
    public void notifyCheckpointAborted(long checkpoint) {
        signals.checkpoint("checkpoint-abort-notified", checkpoint);
    }

    @Override
    public boolean supportsBatchSnapshot() {
        return true;
    }

    @Override
    public void start() {}

    @Override
    public void close() {}

    private static long key(int subtask, int attempt) {
        return (long) subtask << Integer.SIZE | attempt;
    }
}
