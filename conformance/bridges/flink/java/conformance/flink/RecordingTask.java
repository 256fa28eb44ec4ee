package conformance.flink;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.CheckpointMetricsBuilder;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointableTask;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.streaming.runtime.tasks.OperatorChain;
import org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinator;

/** A task and its checkpoint coordinator. What a barrier handler asks of them becomes a signal. */
final class RecordingTask implements CheckpointableTask, SubtaskCheckpointCoordinator {

    private final Signals signals;
    private final List<CompletableFuture<Void>> awaited = new ArrayList<>();
    private LongFunction<CompletableFuture<Void>> allBarriersReceived;

    RecordingTask(Signals signals) {
        this.signals = signals;
    }

    /**
     * Tells the task how it learns that every barrier of a checkpoint was received. Flink asks for that future in
     * {@code StreamTaskNetworkInput.prepareSnapshot}.
     */
    void asks(LongFunction<CompletableFuture<Void>> future) {
        allBarriersReceived = future;
    }

    /** How many futures the task has been given that nobody has completed. */
    int openFutures() {
        awaited.removeIf(CompletableFuture::isDone);
        return awaited.size();
    }

    // ---- what the barrier handler calls

    @Override
    public void triggerCheckpointOnBarrier(
            CheckpointMetaData checkpoint, CheckpointOptions options, CheckpointMetricsBuilder metrics) {
        signals.add(
                Json.tagged("checkpoint-triggered")
                        .put("checkpoint", checkpoint.getCheckpointId())
                        .put("unaligned", options.isUnalignedCheckpoint()));
    }

    @Override
    public void abortCheckpointOnBarrier(long checkpoint, CheckpointException cause) {
        signals.add(
                Json.tagged("checkpoint-declined")
                        .put("checkpoint", checkpoint)
                        .put("reason", Errors.name(cause.getCheckpointFailureReason())));
    }

    @Override
    public void initInputsCheckpoint(long checkpoint, CheckpointOptions options) {
        if (options.isUnalignedCheckpoint()) {
            awaited.add(allBarriersReceived.apply(checkpoint));
        }
    }

    // ---- what others call

    @Override
    public CompletableFuture<Boolean> triggerCheckpointAsync(CheckpointMetaData checkpoint, CheckpointOptions options) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Future<Void> notifyCheckpointCompleteAsync(long checkpoint) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Future<Void> notifyCheckpointAbortAsync(long checkpoint, long latestCompleted) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Future<Void> notifyCheckpointSubsumedAsync(long checkpoint) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ChannelStateWriter getChannelStateWriter() {
        throw new UnsupportedOperationException();
    }

    @Override
    public CheckpointStorageWorkerView getCheckpointStorage() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void abortCheckpointOnBarrier(long checkpoint, CheckpointException cause, OperatorChain<?, ?> chain) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void checkpointState(
            CheckpointMetaData checkpoint,
            CheckpointOptions options,
            CheckpointMetricsBuilder metrics,
            OperatorChain<?, ?> chain,
            boolean isTaskFinished,
            Supplier<Boolean> isRunning) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint, OperatorChain<?, ?> chain, Supplier<Boolean> isRunning) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void notifyCheckpointAborted(long checkpoint, OperatorChain<?, ?> chain, Supplier<Boolean> isRunning) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void notifyCheckpointSubsumed(long checkpoint, OperatorChain<?, ?> chain, Supplier<Boolean> isRunning) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void waitForPendingCheckpoints() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void cancel() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
