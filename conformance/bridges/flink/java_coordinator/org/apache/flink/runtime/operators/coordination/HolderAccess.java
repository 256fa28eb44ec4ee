package org.apache.flink.runtime.operators.coordination;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.executiongraph.TaskInformation;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.messages.Acknowledge;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.util.SerializedValue;

/** The package-private part of a holder: how it is made, and what it needs to know of the attempts of its subtasks. */
public final class HolderAccess {

    private static final int MAX_PARALLELISM = 128;

    private HolderAccess() {}

    /** What a holder knows of one attempt, as {@code ExecutionSubtaskAccess} tells it. */
    public interface Attempt {

        ExecutionAttemptID id();

        /** Completed once the attempt has switched to initializing or running. */
        CompletableFuture<?> switchedToRunning();

        boolean isStillRunning();

        /** Sends a serialized event; the future has the reply of the task. Called in the main thread. */
        CompletableFuture<Acknowledge> send(SerializedValue<OperatorEvent> event);

        void triggerFailover(Throwable cause);
    }

    /** The attempts of a job. */
    public interface Attempts {

        /** The attempts of a subtask that were deployed last. */
        List<? extends Attempt> current(int subtask);

        Attempt get(int subtask, int attempt);
    }

    /**
     * Makes a holder, as {@code ExecutionJobVertex.initialize} does with a vertex of the execution graph.
     *
     * @param concurrentAttempts whether the scheduler may run several attempts of a subtask at a time
     */
    public static OperatorCoordinatorHolder create(
            OperatorCoordinator.Provider provider, int parallelism, Attempts attempts, boolean concurrentAttempts)
            throws Exception {
        String name = "operator";
        return OperatorCoordinatorHolder.create(
                provider.getOperatorId(),
                provider,
                new CoordinatorStoreImpl(),
                name,
                HolderAccess.class.getClassLoader(),
                parallelism,
                MAX_PARALLELISM,
                new Factory(attempts),
                concurrentAttempts,
                new TaskInformation(
                        new JobVertexID(), name, parallelism, MAX_PARALLELISM, "none", new Configuration()),
                UnregisteredMetricGroups.createUnregisteredJobManagerJobMetricGroup());
    }

    public static OperatorID operatorId() {
        return new OperatorID(0, 1);
    }

    private static final class Factory implements SubtaskAccess.SubtaskAccessFactory {

        private final Attempts attempts;

        private Factory(Attempts attempts) {
            this.attempts = attempts;
        }

        @Override
        public Collection<SubtaskAccess> getAccessesForSubtask(int subtask) {
            List<SubtaskAccess> accesses = new ArrayList<>();
            for (Attempt attempt : attempts.current(subtask)) {
                accesses.add(new Access(attempt));
            }
            return accesses;
        }

        @Override
        public SubtaskAccess getAccessForAttempt(int subtask, int attemptNumber) {
            return new Access(attempts.get(subtask, attemptNumber));
        }
    }

    private static final class Access implements SubtaskAccess {

        private final Attempt attempt;

        private Access(Attempt attempt) {
            this.attempt = attempt;
        }

        @Override
        public Callable<CompletableFuture<Acknowledge>> createEventSendAction(SerializedValue<OperatorEvent> event) {
            return () -> attempt.send(event);
        }

        @Override
        public int getSubtaskIndex() {
            return attempt.id().getSubtaskIndex();
        }

        @Override
        public ExecutionAttemptID currentAttempt() {
            return attempt.id();
        }

        @Override
        public String subtaskName() {
            return "subtask " + attempt.id().getSubtaskIndex() + " #" + attempt.id().getAttemptNumber();
        }

        @Override
        public CompletableFuture<?> hasSwitchedToRunning() {
            return attempt.switchedToRunning();
        }

        @Override
        public boolean isStillRunning() {
            return attempt.isStillRunning();
        }

        @Override
        public void triggerTaskFailover(Throwable cause) {
            attempt.triggerFailover(cause);
        }
    }
}
