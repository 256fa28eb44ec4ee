package conformance.flink.coordinator;

import conformance.flink.Unusable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.executiongraph.ExecutionGraphID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.HolderAccess;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinatorHolder;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.apache.flink.util.ExceptionUtils;
import org.apache.flink.util.FlinkException;

/**
 * A holder of Flink with the attempts of its subtasks, called as the scheduler and the checkpoint coordinator call it.
 * Each method says which code of Flink it stands for.
 */
final class JobMaster implements HolderAccess.Attempts {

    private static final byte[] STATE = {1}; // of the coordinator in a checkpoint; nobody reads it

    final MainThread mainThread;
    final UserCoordinator coordinator;

    private final OperatorCoordinatorHolder holder;
    private final Signals signals;
    private final ExecutionGraphID graph = new ExecutionGraphID();
    private final JobVertexID vertex = new JobVertexID();
    private final Map<Integer, List<Attempt>> deployed = new HashMap<>();
    private final Map<Integer, Integer> newest = new HashMap<>();
    private final Map<Long, Attempt> all = new HashMap<>();
    private int openResults;

    /**
     * As {@code SchedulerBase} makes a job: the coordinators are made and restored, then the main thread is known, and
     * they are started.
     *
     * @param restored the checkpoint, or {@code OperatorCoordinator.NO_CHECKPOINT}
     */
    JobMaster(int parallelism, boolean checkpointing, long restored, Signals signals) throws Exception {
        this.signals = signals;
        this.mainThread = new MainThread(signals);
        for (int subtask = 0; subtask < parallelism; subtask++) {
            deploy(subtask);
        }
        Provider provider = new Provider(signals);
        this.holder = HolderAccess.create(provider, parallelism, this, !checkpointing);
        this.coordinator = (UserCoordinator) holder.coordinator();
        if (restored != OperatorCoordinator.NO_CHECKPOINT) {
            holder.resetToCheckpoint(restored, STATE);
        }
        mainThread.within(
                () -> {
                    holder.lazyInitialize(
                            this::handleGlobalFailure, mainThread, checkpointing ? checkpointCoordinator() : null);
                    holder.start();
                });
    }

    /** The holder asks only whether there is one: without it, it registers no gateways. */
    private static CheckpointCoordinator checkpointCoordinator() throws ReflectiveOperationException {
        java.lang.reflect.Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        return (CheckpointCoordinator)
                ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(CheckpointCoordinator.class);
    }

    private static final class Provider implements OperatorCoordinator.Provider {

        private static final long serialVersionUID = 1L;

        private final transient Signals signals;

        private Provider(Signals signals) {
            this.signals = signals;
        }

        @Override
        public OperatorID getOperatorId() {
            return HolderAccess.operatorId();
        }

        @Override
        public OperatorCoordinator create(OperatorCoordinator.Context context) {
            return new UserCoordinator(context, signals);
        }
    }

    private void handleGlobalFailure(Throwable cause) {
        Unusable.rethrow(cause);
        signals.globalFailover();
    }

    // ---- the checkpoint coordinator, in its own thread

    /** {@code OperatorCoordinatorCheckpoints.triggerCoordinatorCheckpoint}. */
    void trigger(long checkpoint) {
        CompletableFuture<byte[]> result = new CompletableFuture<>();
        openResults++;
        result.whenComplete(
                (state, failure) -> {
                    openResults--;
                    signals.checkpointed(checkpoint, failure == null);
                });
        holder.checkpointCoordinator(checkpoint, result);
    }

    /** {@code CheckpointCoordinator.onTriggerFailure}. */
    void abortTriggering() {
        holder.abortCurrentTriggering();
    }

    /** {@code CheckpointCoordinator.sendAbortedMessages}. */
    void abort(long checkpoint) {
        holder.notifyCheckpointAborted(checkpoint);
    }

    /** {@code CheckpointCoordinator.cleanupAfterCompletedCheckpoint}: not called for a savepoint of a job that goes on. */
    void complete(long checkpoint) {
        holder.notifyCheckpointComplete(checkpoint);
    }

    // ---- attempts

    /** The task executor notifies the job master that the task is initializing ({@code updateTaskExecutionState}). */
    void run(Attempt attempt) {
        mainThread.execute(attempt::switchToRunning);
    }

    /**
     * {@code Execution.processFail}, then {@code DefaultScheduler.onTaskFailed}, which notifies the coordinators. In the
     * same turn {@code CheckpointCoordinatorDeActivator} stops the checkpoint scheduler, since the job is restarting or
     * not all of it is running, and {@code CheckpointCoordinator.stopCheckpointScheduler} aborts what is pending.
     */
    void fail(Attempt attempt, long[] aborted) throws Exception {
        mainThread.within(
                () -> {
                    attempt.end();
                    holder.executionAttemptFailed(
                            attempt.subtask, attempt.number, new FlinkException("the attempt failed"));
                    for (long checkpoint : aborted) {
                        holder.notifyCheckpointAborted(checkpoint);
                    }
                });
    }

    /** {@code Execution.markFinished}. No coordinator is notified. */
    void finish(Attempt attempt) throws Exception {
        mainThread.within(attempt::end);
    }

    /**
     * {@code DefaultScheduler.restartTasks} for some subtasks: there are new executions, and then {@code
     * SchedulerBase.restoreState} aborts the pending checkpoints and resets the subtasks.
     */
    void restart(int[] subtasks, long restored, long[] aborted) throws Exception {
        mainThread.within(
                () -> {
                    for (int subtask : subtasks) {
                        deploy(subtask);
                    }
                    for (long checkpoint : aborted) {
                        holder.notifyCheckpointAborted(checkpoint);
                    }
                    for (int subtask : subtasks) {
                        holder.subtaskReset(subtask, restored);
                    }
                });
    }

    /**
     * {@code DefaultScheduler.restartTasksWithDelay} after a global failure: {@code cancelExecutionVertex} tells the
     * coordinators of each attempt that it cancels. Then {@code restartTasks} for all subtasks: {@code restoreState}
     * aborts the pending checkpoints and resets the coordinators.
     */
    void restartAll(long restored, long[] aborted) throws Exception {
        mainThread.within(
                () -> {
                    for (int subtask = 0; subtask < deployed.size(); subtask++) {
                        for (Attempt attempt : deployed.get(subtask)) {
                            if (!attempt.isOver()) {
                                holder.executionAttemptFailed(subtask, attempt.number, null);
                                attempt.end();
                            }
                        }
                    }
                    for (int subtask = 0; subtask < deployed.size(); subtask++) {
                        deploy(subtask);
                    }
                    for (long checkpoint : aborted) {
                        holder.notifyCheckpointAborted(checkpoint);
                    }
                    holder.resetToCheckpoint(
                            restored, restored == OperatorCoordinator.NO_CHECKPOINT ? null : STATE);
                });
    }

    /** {@code DefaultSpeculativeExecutionHandler.notifySlowTasks}. */
    void speculate(int subtask) throws Exception {
        mainThread.within(
                () -> {
                    Attempt attempt = next(subtask);
                    deployed.get(subtask).add(attempt);
                    holder.setupSubtaskGatewayForAttempts(subtask, Set.of(attempt.number));
                });
    }

    private void deploy(int subtask) {
        deployed.put(subtask, new ArrayList<>(List.of(next(subtask))));
    }

    private Attempt next(int subtask) {
        int number = newest.merge(subtask, 0, (before, unused) -> before + 1);
        ExecutionAttemptID id = new ExecutionAttemptID(graph, new ExecutionVertexID(vertex, subtask), number);
        Attempt attempt = new Attempt(id, signals);
        all.put(key(subtask, number), attempt);
        return attempt;
    }

    @Override
    public List<Attempt> current(int subtask) {
        return deployed.get(subtask);
    }

    @Override
    public Attempt get(int subtask, int attempt) {
        return all.get(key(subtask, attempt));
    }

    private static long key(int subtask, int attempt) {
        return (long) subtask << Integer.SIZE | attempt;
    }

    // ---- reports

    /**
     * A report arrives: {@code DefaultOperatorCoordinatorHandler.deliverOperatorEventToCoordinator}. If the attempt is
     * over, the request is refused, which nobody hears any more. An attempt that was deployed cannot send a report
     * before the job master knows that it is initializing ({@code Task.doRun} notifies it before it runs the operators).
     */
    void arrive(Attempt attempt, OperatorEvent report) {
        mainThread.execute(
                () -> {
                    if (attempt.isOver()) {
                        return;
                    }
                    try {
                        holder.handleEventFromOperator(attempt.subtask, attempt.number, report);
                    } catch (Throwable thrown) {
                        ExceptionUtils.rethrowIfFatalErrorOrOOM(thrown);
                        handleGlobalFailure(thrown);
                    }
                });
    }

    // ---- life

    /** The tickets and the results of checkpoints that are open. */
    int openFutures() {
        return signals.openTickets() + openResults;
    }

    /** The job master is gone, with all that it held. */
    void close() throws Exception {
        holder.close();
        mainThread.clear();
        signals.forgetTickets();
        openResults = 0;
    }
}
