package conformance.flink.coordinator;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.messages.Acknowledge;
import org.apache.flink.runtime.operators.coordination.HolderAccess;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.operators.coordination.TaskNotRunningException;
import org.apache.flink.util.FlinkException;
import org.apache.flink.util.SerializedValue;

/** One attempt as the job master knows it ({@code Execution}), with the requests to it and the reports from it. */
final class Attempt implements HolderAccess.Attempt {

    private enum State {
        DEPLOYED,
        RUNNING,
        OVER
    }

    private static final class Request {
        private final Message event;
        private final CompletableFuture<Acknowledge> reply = new CompletableFuture<>();

        private Request(Message event) {
            this.event = event;
        }
    }

    final int subtask;
    final int number;

    private final ExecutionAttemptID id;
    private final Signals signals;
    private final CompletableFuture<Void> switchedToRunning = new CompletableFuture<>();
    private final Deque<Request> requests = new ArrayDeque<>();
    private final Deque<Request> handled = new ArrayDeque<>();
    private final Deque<OperatorEvent> reports = new ArrayDeque<>();
    private State state = State.DEPLOYED;

    Attempt(ExecutionAttemptID id, Signals signals) {
        this.id = id;
        this.subtask = id.getSubtaskIndex();
        this.number = id.getAttemptNumber();
        this.signals = signals;
    }

    // ---- the life of the attempt

    boolean isOver() {
        return state == State.OVER;
    }

    /** Only an attempt that is being deployed switches ({@code Execution.switchTo}). */
    void switchToRunning() {
        if (state == State.DEPLOYED) {
            state = State.RUNNING;
            switchedToRunning.complete(null);
        }
    }

    /**
     * The attempt has failed, was cancelled or has finished. Requests to it fail at once: {@code
     * Execution.transitionState} completes the future of the terminal state, and {@code ExecutionSubtaskAccess} then
     * fails all requests that are not acknowledged. What was on its way from the task is refused or lost.
     */
    void end() {
        state = State.OVER;
        reports.clear();
        for (Deque<Request> unanswered : new Deque[] {handled, requests}) {
            while (!unanswered.isEmpty()) {
                unanswered.remove().reply.completeExceptionally(new FlinkException("Task is no longer running"));
            }
        }
    }

    // ---- events, from the holder to the task

    /** Refused by the job master itself unless the attempt runs ({@code Execution.sendOperatorEvent}). */
    @Override
    public CompletableFuture<Acknowledge> send(SerializedValue<OperatorEvent> event) {
        if (!isStillRunning()) {
            return CompletableFuture.failedFuture(new TaskNotRunningException(id + " does not run"));
        }
        Request request = new Request((Message) read(event));
        requests.add(request);
        signals.transmitted("event-transmitted", this, request.event);
        return request.reply;
    }

    private static OperatorEvent read(SerializedValue<OperatorEvent> event) {
        try {
            return event.deserializeValue(Attempt.class.getClassLoader());
        } catch (ReflectiveOperationException | java.io.IOException unreadable) {
            throw new IllegalStateException(unreadable);
        }
    }

    /** The task handles the oldest event, and acknowledges it. */
    Message deliver() {
        Request oldest = requests.remove();
        handled.add(oldest);
        return oldest.event;
    }

    /** The oldest acknowledgement arrives. */
    void reply() {
        handled.remove().reply.complete(Acknowledge.get());
    }

    void loseEvent() {
        requests.remove().reply.completeExceptionally(lost());
    }

    void loseReply() {
        handled.remove().reply.completeExceptionally(lost());
    }

    /** A request whose acknowledgement does not come fails when its time is over. */
    private static TimeoutException lost() {
        return new TimeoutException("no answer");
    }

    // ---- reports, from the task to the job master

    void report(OperatorEvent report) {
        reports.add(report);
        signals.transmitted("report-transmitted", this, report instanceof Message ? (Message) report : null);
    }

    OperatorEvent nextReport() {
        return reports.remove();
    }

    // ---- what the holder asks

    @Override
    public ExecutionAttemptID id() {
        return id;
    }

    @Override
    public CompletableFuture<?> switchedToRunning() {
        return switchedToRunning;
    }

    @Override
    public boolean isStillRunning() {
        return state == State.RUNNING;
    }

    @Override
    public void triggerFailover(Throwable cause) {
        signals.attempt("task-failover-triggered", subtask, number);
    }
}
