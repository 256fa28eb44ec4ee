package conformance.flink;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.CheckpointMetrics;
import org.apache.flink.runtime.checkpoint.CheckpointMetricsBuilder;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.TaskStateManager;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.operators.OperatorSnapshotFutures;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.runtime.tasks.OperatorChain;
import org.apache.flink.streaming.runtime.tasks.SubtaskAccess;
import org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinator;

/**
 * Flink's {@link SubtaskCheckpointCoordinator} and its asynchronous parts, with a real operator chain of one operator and
 * one output. The operator, the partition behind the output, the inputs and the channel state writer only record.
 */
final class SubtaskCheckpointSubject implements Subject {

    private static final String START = "checkpoint-start";
    private static final String SNAPSHOT = "operator-snapshot";
    /** Nanoseconds of a millisecond. */
    private static final long NANOS = 1_000_000;

    private final Signals signals = new Signals();
    private final SubtaskCalls calls = new SubtaskCalls(signals);
    private final Faults faults = new Faults(signals);
    private final ManualTimers timers = new ManualTimers();
    private final RecordingResults writer = new RecordingResults(calls, faults);
    private final SubtaskAccess.Parts parts = new SubtaskAccess.Parts();
    /** By checkpoint, what the operator writes in the background. */
    private final Map<Long, TurnFuture<SnapshotResult<KeyedStateHandle>>> operatorState = new HashMap<>();
    /** By checkpoint, whether the inputs have handed all of their data over. */
    private final Map<Long, CompletableFuture<Void>> inputs = new HashMap<>();
    /** By checkpoint, how many nanoseconds its alignment took; 0 if nobody says it. */
    private final Map<Long, CompletableFuture<Long>> alignments = new HashMap<>();

    private final OperatorChain<Integer, ?> chain;
    private final SubtaskCheckpointCoordinator coordinator;
    private final long timeout;
    private boolean isRunning = true;

    SubtaskCheckpointSubject(JsonNode config) throws BadRequest {
        timeout = Json.number(Json.field(config, "timeout"));
        MailboxExecutor mailbox = Partial.of(MailboxExecutor.class, Map.of());
        chain = SubtaskAccess.chain(operator(), partition(), mailbox);
        coordinator =
                SubtaskAccess.coordinator(
                        environment(),
                        new StateFiles(faults),
                        writer,
                        this::prepareInputs,
                        parts,
                        timers,
                        timers.clock);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "start_inputs":
                coordinator.initInputsCheckpoint(
                        arguments.number(0), Events.options(arguments.text(1), timeout));
                return null;
            case "aligned":
                alignment(arguments.number(0)).complete(arguments.number(1) * NANOS);
                return null;
            case "inputs_done":
                alignment(arguments.number(0)).complete(0L);
                inputs.get(arguments.number(0)).complete(null);
                return null;
            case "inputs_failed":
                alignment(arguments.number(0)).complete(0L);
                inputs.get(arguments.number(0))
                        .completeExceptionally(new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED));
                return null;
            case "trigger":
                trigger(Events.barrier(arguments.node(0), arguments.number(1), timeout));
                return null;
            case "decline":
                coordinator.abortCheckpointOnBarrier(
                        arguments.number(0), new CheckpointException(Errors.reason(arguments.text(1))), chain);
                return null;
            case "complete":
                coordinator.notifyCheckpointComplete(arguments.number(0), chain, () -> isRunning);
                return null;
            case "abort":
                coordinator.notifyCheckpointAborted(arguments.number(0), chain, () -> isRunning);
                return null;
            case "advance":
                timers.advance(arguments.number(0));
                return null;
            case "state_written":
                writer.begun(arguments.number(0)).add(arguments.text(1), (int) arguments.number(2));
                return null;
            case "finish_part":
                finish(arguments.number(0), arguments.text(1));
                return null;
            case "fail_part":
                part(arguments.number(0), arguments.text(1)).completeExceptionally(failure(arguments.node(2)));
                return null;
            case "run_async":
                parts.run(arguments.number(0));
                return null;
            case "cancel":
                cancel();
                return null;
            case "fault":
                faults.arm(arguments.text(0), arguments.text(1), arguments.number(2));
                return true;
            case "resources":
                return Json.object()
                        .put("segments", 0)
                        .put("listeners", timers.count())
                        .put("futures", SubtaskAccess.held(coordinator));
            case "release":
                release();
                return null;
            default:
                throw new BadRequest("a subtask checkpoint coordinator has no method \"" + method + "\"");
        }
    }

    @Override
    public void dropped() throws Exception {
        release();
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    // ---- the task

    private CompletableFuture<Long> alignment(long checkpoint) {
        return alignments.computeIfAbsent(checkpoint, unused -> new CompletableFuture<>());
    }

    private void trigger(CheckpointBarrier barrier) throws Exception {
        CompletableFuture<Long> alignment = alignment(barrier.getId());
        if (!barrier.getCheckpointOptions().isUnalignedCheckpoint()) { // all of its barriers have been taken
            alignment.complete(0L);
        }
        CheckpointMetricsBuilder metrics =
                new CheckpointMetricsBuilder()
                        .setBytesProcessedDuringAlignment(0)
                        .setAlignmentDurationNanos(alignment)
                        .setCheckpointStartDelayNanos(0);
        coordinator.checkpointState(
                new CheckpointMetaData(barrier.getId(), barrier.getTimestamp()),
                barrier.getCheckpointOptions(),
                metrics,
                chain,
                false,
                () -> isRunning);
    }

    /** In the order of {@code StreamTask.cancel}. */
    private void cancel() throws Exception {
        isRunning = false;
        coordinator.cancel();
    }

    private void release() throws Exception {
        isRunning = false;
        coordinator.close();
        parts.runAll();
    }

    // ---- state that becomes final

    @SuppressWarnings("unchecked")
    private void finish(long checkpoint, String part) throws BadRequest {
        Object state = part.equals("operators") ? SnapshotResult.empty() : writer.begun(checkpoint).stored(part);
        ((CompletableFuture<Object>) part(checkpoint, part)).complete(state);
    }

    private CompletableFuture<?> part(long checkpoint, String part) throws BadRequest {
        switch (part) {
            case "operators":
                return operatorState.get(checkpoint);
            case "inputs":
                return writer.begun(checkpoint).inputs;
            case "outputs":
                return writer.begun(checkpoint).outputs;
            default:
                throw new BadRequest("unknown part \"" + part + "\"");
        }
    }

    private static Exception failure(JsonNode reason) throws BadRequest {
        return reason.isNull()
                ? new Exception("the state cannot be written")
                : new CheckpointException(Errors.reason(Json.text(reason)));
    }

    // ---- what the coordinator calls

    private CompletableFuture<Void> prepareInputs(ChannelStateWriter unused, long checkpoint)
            throws CheckpointException {
        String kind = faults.strike(START);
        if ("refuses".equals(kind)) {
            throw new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY);
        }
        if (kind != null) {
            throw new RuntimeException(Faults.failure(START));
        }
        calls.add(checkpoint, "inputs-prepare");
        CompletableFuture<Void> done = new CompletableFuture<>();
        inputs.put(checkpoint, done);
        return done;
    }

    private StreamOperator<Integer> operator() {
        OperatorID id = new OperatorID(0, 0);
        @SuppressWarnings("unchecked")
        StreamOperator<Integer> operator =
                Partial.of(
                        StreamOperator.class,
                        Map.of(
                                "getOperatorID", nothing -> id,
                                "prepareSnapshotPreBarrier", called -> told(called[0], "operators-prepare"),
                                "snapshotState", called -> snapshot((long) called[0]),
                                "notifyCheckpointComplete", called -> told(called[0], "operators-complete"),
                                "notifyCheckpointAborted", called -> told(called[0], "operators-abort")));
        return operator;
    }

    private OperatorSnapshotFutures snapshot(long checkpoint) throws Exception {
        if (faults.strike(SNAPSHOT) != null) {
            throw Faults.failure(SNAPSHOT);
        }
        calls.add(checkpoint, "operators-snapshot");
        TurnFuture<SnapshotResult<KeyedStateHandle>> state = new TurnFuture<>();
        operatorState.put(checkpoint, state);
        OperatorSnapshotFutures futures = new OperatorSnapshotFutures();
        futures.setKeyedStateManagedFuture(state);
        return futures;
    }

    private ResultPartitionWriter partition() {
        return Partial.of(
                ResultPartitionWriter.class,
                Map.of(
                        "getNumberOfSubpartitions", nothing -> 1,
                        "broadcastEvent", called -> broadcast(called[0], (boolean) called[1]),
                        "alignedBarrierTimeout", called -> told(called[0], "outputs-time-out"),
                        "abortCheckpoint", ignored -> null));
    }

    private Object broadcast(Object event, boolean hasPriority) {
        if (event instanceof CancelCheckpointMarker) {
            return told(((CancelCheckpointMarker) event).getCheckpointId(), "outputs-cancel-marker");
        }
        return told(
                ((CheckpointBarrier) event).getId(), hasPriority ? "outputs-priority-barrier" : "outputs-barrier");
    }

    private Environment environment() {
        TaskStateManager states =
                Partial.of(
                        TaskStateManager.class,
                        Map.of(
                                "reportTaskStateSnapshots",
                                called -> acknowledged((CheckpointMetaData) called[0], (CheckpointMetrics) called[1]),
                                "reportIncompleteTaskStateSnapshots", ignored -> null,
                                "notifyCheckpointComplete", ignored -> null,
                                "notifyCheckpointAborted", ignored -> null));
        JobID job = new JobID(0, 0);
        return Partial.of(
                Environment.class,
                Map.of(
                        "getJobID", nothing -> job,
                        "getTaskStateManager", nothing -> states,
                        "declineCheckpoint", called -> declined((long) called[0], (CheckpointException) called[1])));
    }

    private Object acknowledged(CheckpointMetaData checkpoint, CheckpointMetrics metrics) {
        ObjectNode said = Json.tagged("checkpoint-acknowledged").put("checkpoint", checkpoint.getCheckpointId());
        said.putObject("taken")
                .put("unaligned", metrics.getUnalignedCheckpoint())
                .put("persisted", metrics.getBytesPersistedDuringAlignment())
                .put("alignment", metrics.getAlignmentDurationNanos() / NANOS);
        signals.add(said);
        return null;
    }

    private Object declined(long checkpoint, CheckpointException cause) {
        signals.add(
                Json.tagged("checkpoint-declined")
                        .put("checkpoint", checkpoint)
                        .put("reason", Errors.name(cause.getCheckpointFailureReason())));
        return null;
    }

    private Object told(Object checkpoint, String call) {
        calls.add(checkpoint, call);
        return null;
    }
}
