package conformance.flink;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.channel.WriteResults;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Preconditions;

/**
 * A channel state writer that writes nothing. It signals its calls, and its results end when a scenario says so.
 * Like Flink's, it refuses a checkpoint that it has begun, and the result of one that it does not hold.
 */
final class RecordingResults implements ChannelStateWriter {

    private final SubtaskCalls calls;
    private final Faults faults;
    private final Map<Long, Result> held = new HashMap<>();
    /** Those that were begun, the newest for each checkpoint; also if they are not held any more. */
    private final Map<Long, Result> begun = new HashMap<>();

    static final class Result {
        final CompletableFuture<Collection<InputChannelStateHandle>> inputs = new TurnFuture<>();
        final CompletableFuture<Collection<ResultSubpartitionStateHandle>> outputs = new TurnFuture<>();
        /** By part, how many records are stored, of a byte each. */
        private final Map<String, Integer> stored = new HashMap<>();

        void add(String part, int records) {
            stored.merge(part, records, Integer::sum);
        }

        /** The handles of what is stored, of all channels together. */
        List<?> stored(String part) {
            if (!stored.containsKey(part)) {
                return List.of();
            }
            StreamStateHandle state = new ByteStreamStateHandle(part, new byte[stored.get(part)]);
            return part.equals("inputs")
                    ? List.of(new InputChannelStateHandle(new InputChannelInfo(0, 0), state, List.of(0L)))
                    : List.of(new ResultSubpartitionStateHandle(new ResultSubpartitionInfo(0, 0), state, List.of(0L)));
        }
    }

    RecordingResults(SubtaskCalls calls, Faults faults) {
        this.calls = calls;
        this.faults = faults;
    }

    Result begun(long checkpoint) {
        return begun.get(checkpoint);
    }

    @Override
    public void start(long checkpoint, CheckpointOptions options) {
        faults.throwUnchecked(RecordingStateWriter.PLACE);
        calls.add(checkpoint, "writer-start");
        Preconditions.checkArgument(!held.containsKey(checkpoint), "checkpoint %s has begun", checkpoint);
        Result result = new Result();
        held.put(checkpoint, result);
        begun.put(checkpoint, result);
    }

    @Override
    public void finishInput(long checkpoint) {
        calls.add(checkpoint, "writer-finish-input");
    }

    @Override
    public void finishOutput(long checkpoint) {
        faults.throwUnchecked(RecordingStateWriter.PLACE);
        calls.add(checkpoint, "writer-finish-output");
    }

    @Override
    public void abort(long checkpoint, Throwable cause, boolean cleanup) {
        calls.add(checkpoint, cleanup ? "writer-abort-and-forget" : "writer-abort");
        if (cleanup) {
            held.remove(checkpoint);
        }
    }

    @Override
    public ChannelStateWriteResult getAndRemoveWriteResult(long checkpoint) {
        calls.add(checkpoint, "writer-take-result");
        Result result = held.remove(checkpoint);
        Preconditions.checkArgument(result != null, "there is no result of checkpoint %s", checkpoint);
        return WriteResults.of(result.inputs, result.outputs);
    }

    // ---- who has in-flight data calls these, which are not here

    @Override
    public void addInputData(
            long checkpoint, InputChannelInfo channel, int sequenceNumber, CloseableIterator<Buffer> buffers) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void addOutputData(
            long checkpoint, ResultSubpartitionInfo subpartition, int sequenceNumber, Buffer... buffers) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void addOutputDataFuture(
            long checkpoint,
            ResultSubpartitionInfo subpartition,
            int sequenceNumber,
            CompletableFuture<List<Buffer>> buffers) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
