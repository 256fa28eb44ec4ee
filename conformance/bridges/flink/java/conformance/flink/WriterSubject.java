package conformance.flink;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriterImpl;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.channel.WriterAccess;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.state.AbstractChannelStateHandle;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.ExceptionUtils;

/** Flink's {@link ChannelStateWriterImpl} of each subtask, with the executors that they share. */
final class WriterSubject implements Subject {

    private static final CheckpointOptions OPTIONS =
            CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault());

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final StateFiles files = new StateFiles(faults);
    private final WriterAccess access;
    /** By number, the subtasks that have registered; also those that have closed. */
    private final Map<Integer, WriterAccess.Subtask> subtasks = new TreeMap<>();

    private final Map<String, Result> results = new HashMap<>();
    private final Map<Integer, CompletableFuture<List<Buffer>>> futures = new HashMap<>();
    private int buffers;

    /** The last result that a subtask has opened for a checkpoint. */
    private static final class Result {
        private CompletableFuture<Void> done;
        private BooleanSupplier isKept; // whether it was neither taken nor aborted, and its subtask has not closed
        private final List<AbstractChannelStateHandle<?>> handles = new ArrayList<>();
    }

    WriterSubject(JsonNode config) throws BadRequest {
        access =
                new WriterAccess(
                        files,
                        (int) Json.number(Json.field(config, "sharing")),
                        (int) Json.number(Json.field(config, "max_results")));
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "register":
                WriterAccess.Subtask made = access.register(arguments.index(0));
                subtasks.put(arguments.index(0), made);
                return Json.array(made.users());
            case "start":
                start(arguments.index(0), arguments.number(1));
                return null;
            case "add_input":
                writer(arguments)
                        .addInputData(
                                arguments.number(1),
                                new InputChannelInfo(0, arguments.index(2)),
                                ChannelStateWriter.SEQUENCE_NUMBER_UNKNOWN,
                                CloseableIterator.fromList(buffers(arguments.node(3)), Buffer::recycleBuffer));
                return null;
            case "add_output":
                writer(arguments)
                        .addOutputData(
                                arguments.number(1),
                                subpartition(arguments),
                                ChannelStateWriter.SEQUENCE_NUMBER_UNKNOWN,
                                buffers(arguments.node(3)).toArray(new Buffer[0]));
                return null;
            case "add_output_future":
                CompletableFuture<List<Buffer>> promise = new CompletableFuture<>();
                futures.put(arguments.index(3), promise);
                writer(arguments)
                        .addOutputDataFuture(
                                arguments.number(1),
                                subpartition(arguments),
                                ChannelStateWriter.SEQUENCE_NUMBER_UNKNOWN,
                                promise);
                return null;
            case "complete_future":
                futures.get(arguments.index(0)).complete(buffers(arguments.node(1)));
                return null;
            case "fail_future":
                futures.get(arguments.index(0))
                        .completeExceptionally(new CheckpointException(Errors.reason(arguments.text(1))));
                return null;
            case "finish_input":
                writer(arguments).finishInput(arguments.number(1));
                return null;
            case "finish_output":
                writer(arguments).finishOutput(arguments.number(1));
                return null;
            case "abort":
                writer(arguments)
                        .abort(arguments.number(1), new CheckpointException(Errors.reason(arguments.text(2))), true);
                return null;
            case "take_result":
                writer(arguments).getAndRemoveWriteResult(arguments.number(1));
                return null;
            case "close":
                if (subtasks.containsKey(arguments.index(0))) {
                    writer(arguments).close();
                }
                return null;
            case "execute":
                return described(subtasks.get(arguments.index(0)).execute());
            case "read_back":
                return readBack(results.get(arguments.number(0) + " " + arguments.number(1)));
            case "files":
                ArrayNode existing = Json.array();
                files.existing().forEach(existing::add);
                return existing;
            case "executors":
                return executors();
            case "fault":
                faults.arm(arguments.text(0), arguments.text(1), arguments.number(2));
                return true;
            case "resources":
                return Json.object().put("segments", buffers).put("open_files", files.open()).put("futures", open());
            case "release":
                release();
                return null;
            default:
                throw new BadRequest("a writer has no method \"" + method + "\"");
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

    // ---- what a subtask asks for

    private ChannelStateWriterImpl writer(Arguments arguments) throws BadRequest {
        return subtasks.get(arguments.index(0)).writer;
    }

    private static ResultSubpartitionInfo subpartition(Arguments arguments) throws BadRequest {
        return new ResultSubpartitionInfo(0, arguments.index(2));
    }

    private void start(int subtask, long checkpoint) {
        ChannelStateWriterImpl writer = subtasks.get(subtask).writer;
        writer.start(checkpoint, OPTIONS);
        Result result = new Result();
        ChannelStateWriter.ChannelStateWriteResult future = writer.getWriteResult(checkpoint);
        CompletableFuture<? extends Collection<? extends AbstractChannelStateHandle<?>>> inputs =
                future.getInputChannelStateHandles();
        CompletableFuture<? extends Collection<? extends AbstractChannelStateHandle<?>>> outputs =
                future.getResultSubpartitionStateHandles();
        result.done =
                CompletableFuture.allOf(
                        inputs.thenAccept(result.handles::addAll), outputs.thenAccept(result.handles::addAll));
        result.done.whenComplete((nothing, error) -> tell(subtask, checkpoint, error));
        result.isKept = () -> writer.getWriteResult(checkpoint) == future;
        results.put(subtask + " " + checkpoint, result);
    }

    private void tell(int subtask, long checkpoint, Throwable error) {
        ObjectNode signal = Json.tagged(error == null ? "channel-state-completed" : "channel-state-failed");
        signal.put("subtask", subtask).put("checkpoint", checkpoint);
        signals.add(error == null ? signal : signal.put("reason", reason(error)));
    }

    /** Why a result has failed: what {@code AsyncCheckpointRunnable} finds in the error, and else what the port names. */
    private static String reason(Throwable error) {
        Optional<CheckpointException> found = ExceptionUtils.findThrowable(error, CheckpointException.class);
        if (found.isPresent()) {
            return Errors.name(found.get().getCheckpointFailureReason());
        }
        if (ExceptionUtils.findThrowable(error, CancellationException.class).isPresent()) {
            return "task-closing";
        }
        return ExceptionUtils.findThrowable(error, IOException.class).isPresent() ? "io-exception" : "async-exception";
    }

    /** One buffer for each record. */
    private List<Buffer> buffers(JsonNode records) throws BadRequest {
        List<Buffer> made = new ArrayList<>();
        for (int record : Json.ids(records)) {
            MemorySegment segment = MemorySegmentFactory.allocateUnpooledSegment(Integer.BYTES);
            segment.putIntBigEndian(0, record);
            buffers++;
            made.add(new NetworkBuffer(segment, one -> recycle(record), Buffer.DataType.DATA_BUFFER, Integer.BYTES));
        }
        return made;
    }

    private void recycle(int record) {
        buffers--;
        signals.add(Json.tagged("buffer-recycled").put("record", record));
    }

    // ---- observers

    private static ObjectNode described(WriterAccess.Executed request) {
        if (request == null) {
            return null;
        }
        return Json.object()
                .put("subtask", request.subtask)
                .put("kind", request.kind)
                .put("checkpoint", request.checkpoint);
    }

    private ArrayNode executors() {
        List<List<Integer>> running = access.running();
        running.sort(Comparator.comparing(users -> users.isEmpty() ? -1 : users.get(0)));
        ArrayNode all = Json.array();
        running.forEach(users -> all.add(Json.array(users)));
        return all;
    }

    private int open() {
        return (int) results.values().stream().filter(one -> !one.done.isDone() && one.isKept.getAsBoolean()).count();
    }

    private static ArrayNode readBack(Result result) throws IOException {
        if (result == null || !result.done.isDone() || result.done.isCompletedExceptionally()) {
            return null;
        }
        Map<Integer, ArrayNode> inputs = new TreeMap<>();
        Map<Integer, ArrayNode> outputs = new TreeMap<>();
        for (AbstractChannelStateHandle<?> handle : result.handles) {
            if (handle.getInfo() instanceof InputChannelInfo) {
                read(handle, inputs, ((InputChannelInfo) handle.getInfo()).getInputChannelIdx());
            } else {
                read(handle, outputs, ((ResultSubpartitionInfo) handle.getInfo()).getSubPartitionIdx());
            }
        }
        ArrayNode states = Json.array();
        inputs.forEach((channel, records) -> states.add(state(false, channel, records)));
        outputs.forEach((channel, records) -> states.add(state(true, channel, records)));
        return states;
    }

    private static ObjectNode state(boolean isOutput, int channel, ArrayNode records) {
        ObjectNode state = Json.object().put("output", isOutput).put("channel", channel);
        state.set("records", records);
        return state;
    }

    /** At each offset of a handle is the length of a segment, and then the segment. */
    private static void read(AbstractChannelStateHandle<?> handle, Map<Integer, ArrayNode> into, int channel)
            throws IOException {
        ArrayNode records = into.computeIfAbsent(channel, number -> Json.array());
        byte[] bytes = handle.getDelegate().asBytesIfInMemory().get();
        for (long offset : handle.getOffsets()) {
            DataInputStream stream = new DataInputStream(new ByteArrayInputStream(bytes));
            stream.skipBytes((int) offset);
            for (int left = stream.readInt(); left > 0; left -= Integer.BYTES) {
                records.add(stream.readInt());
            }
        }
    }

    /** Closes what is open. The last close of an executor ends its thread. */
    private void release() throws IOException {
        IOException failed = null;
        for (WriterAccess.Subtask subtask : subtasks.values()) {
            try {
                subtask.writer.close();
            } catch (IOException error) {
                failed = ExceptionUtils.firstOrSuppressed(error, failed);
            }
        }
        if (failed != null) {
            throw failed;
        }
    }
}
