package conformance.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.util.CloseableIterator;

/** Records which record ids it was given for which checkpoint. It writes no file and recycles every buffer at once. */
final class RecordingStateWriter implements ChannelStateWriter {

    static final String PLACE = "channel-state-writer";

    private static final class Written {
        private String status;
        private final List<Integer> ids = new ArrayList<>();
    }

    private final Map<Long, Written> checkpoints = new HashMap<>();
    /** Input state by checkpoint and channel. */
    private final Map<Long, Map<InputChannelInfo, List<Integer>>> inputs = new HashMap<>();
    private int open;
    /** Is asked by each call of {@link #addInputData} whether it fails. */
    private BooleanSupplier inputFault = () -> false;
    /** Notified of the next call that hands over output state, which fails; null if it does not fail. */
    private Runnable outputFault;

    /** The number of channel state futures that are open. */
    int openFutures() {
        return open;
    }

    /** The output state of a checkpoint, as the port returns it. */
    ObjectNode persisted(long checkpoint) {
        Written written = checkpoints.get(checkpoint);
        if (written == null) {
            return Json.object().put("status", "absent");
        }
        ObjectNode state = Json.object().put("status", written.status);
        state.set("ids", Json.array(written.ids));
        return state;
    }

    /** The input state of one channel in a checkpoint, in the order written. */
    List<Integer> persistedInput(long checkpoint, InputChannelInfo channel) {
        return inputs.getOrDefault(checkpoint, Map.of()).getOrDefault(channel, List.of());
    }

    /** Lets the next {@link #addInputData} fail, and reports it when it does. */
    void failNextInput(Runnable struck) {
        inputFault =
                () -> {
                    inputFault = () -> false;
                    struck.run();
                    return true;
                };
    }

    /** Lets those calls of {@link #addInputData} fail in which this is true, which reports it. */
    void failInputs(BooleanSupplier strikes) {
        inputFault = strikes;
    }

    /** Lets the next {@link #addOutputData} or {@link #addOutputDataFuture} fail, and reports it when it does. */
    void failNextOutput(Runnable struck) {
        outputFault = struck;
    }

    @Override
    public void addInputData(
            long checkpoint, InputChannelInfo channel, int firstNumber, CloseableIterator<Buffer> data) {
        if (inputFault.getAsBoolean()) {
            throw failed(data);
        }
        List<Integer> ids =
                inputs.computeIfAbsent(checkpoint, unused -> new HashMap<>())
                        .computeIfAbsent(channel, unused -> new ArrayList<>());
        while (data.hasNext()) {
            Buffer buffer = data.next();
            try {
                ids.addAll(Segments.read(buffer));
            } finally {
                buffer.recycleBuffer();
            }
        }
    }

    /** What {@code ChannelStateWriterImpl.enqueue} throws, if its executor does not take the request any more. */
    private static RuntimeException failed(AutoCloseable data) {
        RuntimeException failure =
                new RuntimeException("unable to send request to worker", new IOException("the writer has failed"));
        try {
            data.close();
        } catch (Exception alsoFailed) {
            failure.addSuppressed(alsoFailed);
        }
        return failure;
    }

    @Override
    public void addOutputData(long checkpoint, ResultSubpartitionInfo info, int firstNumber, Buffer... data) {
        if (outputFails()) {
            throw failed(() -> List.of(data).forEach(Buffer::recycleBuffer));
        }
        record(written(checkpoint), List.of(data));
    }

    @Override
    public void addOutputDataFuture(
            long checkpoint, ResultSubpartitionInfo info, int firstNumber, CompletableFuture<List<Buffer>> data) {
        if (outputFails()) {
            // As the cancellation of a request that waits for its data: it recycles the data when it comes.
            throw failed(() -> data.thenAccept(buffers -> buffers.forEach(Buffer::recycleBuffer)));
        }
        Written written = written(checkpoint);
        written.status = "pending";
        open++;
        // Runs in the thread that completes the future, so that the state is known when the operation returns.
        data.whenComplete(
                (buffers, failure) -> {
                    open--;
                    if (failure == null) {
                        record(written, buffers);
                    } else {
                        written.status = "failed";
                    }
                });
    }

    private boolean outputFails() {
        Runnable struck = outputFault;
        outputFault = null;
        if (struck != null) {
            struck.run();
        }
        return struck != null;
    }

    private Written written(long checkpoint) {
        return checkpoints.computeIfAbsent(checkpoint, unused -> new Written());
    }

    private static void record(Written written, List<Buffer> buffers) {
        for (Buffer buffer : buffers) {
            try {
                written.ids.addAll(Segments.read(buffer));
            } finally {
                buffer.recycleBuffer();
            }
        }
        written.status = "written";
    }

    // The classes under test call none of the following methods.

    @Override
    public void start(long checkpoint, CheckpointOptions options) {}

    @Override
    public void finishInput(long checkpoint) {}

    @Override
    public void finishOutput(long checkpoint) {}

    @Override
    public void abort(long checkpoint, Throwable cause, boolean cleanup) {}

    @Override
    public ChannelStateWriteResult getAndRemoveWriteResult(long checkpoint) {
        throw new UnsupportedOperationException("nothing is written to a file");
    }

    @Override
    public void close() {}
}
