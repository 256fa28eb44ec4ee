import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriteRequestExecutorFactory;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriterImpl;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointMetadataOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeOffsets;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.OperatorStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.util.CloseableIterator;

/**
 * Writes checkpoint 4 of two subtasks that share a channel state file, with Flink's own writer, file system storage and
 * metadata. Arguments: the folder; below how many bytes state is kept in _metadata; if there is a third one, state of the
 * operator, of keys and of the coordinator is written, too.
 */
public final class WriteCheckpoint {

    private static final long CHECKPOINT = 4;
    private static final CheckpointOptions OPTIONS =
            CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault());

    private WriteCheckpoint() {}

    /** The collections are raw, since before 2.0 they are of a narrower type. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    public static void main(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int threshold = Integer.parseInt(arguments[1]);
        boolean hasOthers = arguments.length > 2;
        JobID job = new JobID(0, 1);
        FsCheckpointStorageAccess storage = new FsCheckpointStorageAccess(folder, null, job, threshold, 4096);
        storage.initializeBaseLocationsForCheckpoint();
        CheckpointStorageLocation location = storage.initializeLocationForCheckpoint(CHECKPOINT);

        ChannelStateWriteRequestExecutorFactory executors = new ChannelStateWriteRequestExecutorFactory(job);
        JobVertexID vertex = new JobVertexID(0, 2);
        List<ChannelStateWriterImpl> writers =
                IntStream.range(0, 2)
                        .mapToObj(one -> new ChannelStateWriterImpl(vertex, "task", one, () -> storage, executors, 2))
                        .collect(Collectors.toList());
        writers.forEach(one -> one.start(CHECKPOINT, OPTIONS));
        List<ChannelStateWriter.ChannelStateWriteResult> results =
                writers.stream().map(one -> one.getAndRemoveWriteResult(CHECKPOINT)).collect(Collectors.toList());
        for (ChannelStateWriterImpl writer : writers) {
            input(writer, 0, record(3), record(5));
            input(writer, 1, part(record(40), 0, 20), part(record(40), 20, 44));
            input(writer, 0, record(7));
            input(writer, 1, part(record(9), 0, 6)); // the rest is in the output state of the producer
            writer.addOutputData(CHECKPOINT, new ResultSubpartitionInfo(0, 1), 0, buffer(part(record(9), 6, 13)));
            writer.finishInput(CHECKPOINT);
            writer.finishOutput(CHECKPOINT);
        }
        OperatorState operator = operator(new OperatorID(0, 3));
        for (int subtask = 0; subtask < 2; subtask++) {
            OperatorSubtaskState.Builder state = OperatorSubtaskState.builder();
            if (hasOthers) {
                state.setManagedOperatorState(operatorState(storage, subtask));
                state.setManagedKeyedState(keyedState(storage, subtask));
            }
            operator.putState(
                    subtask,
                    state
                            .setInputChannelState(
                                    new StateObjectCollection(
                                            results.get(subtask).getInputChannelStateHandles().get()))
                            .setResultSubpartitionState(
                                    new StateObjectCollection(
                                            results.get(subtask).getResultSubpartitionStateHandles().get()))
                            .build());
            writers.get(subtask).close();
        }
        if (hasOthers) {
            operator.setCoordinatorState(new ByteStreamStateHandle("coordinator", new byte[] {1, 2, 3}));
        }
        try (CheckpointMetadataOutputStream stream = location.createMetadataOutputStream()) {
            Checkpoints.storeCheckpointMetadata(
                    new CheckpointMetadata(CHECKPOINT, List.of(operator), List.of()), stream);
            stream.closeAndFinalizeCheckpoint();
        }
        System.exit(0);
    }

    /** Before 2.0 an operator has no name and no uid here. */
    private static OperatorState operator(OperatorID id) throws Exception {
        Constructor<?>[] all = OperatorState.class.getConstructors();
        boolean isNamed = Arrays.stream(all).anyMatch(one -> one.getParameterCount() == 5);
        Object made =
                isNamed
                        ? OperatorState.class
                                .getConstructor(String.class, String.class, OperatorID.class, int.class, int.class)
                                .newInstance("operator", "uid", id, 2, 8)
                        : OperatorState.class
                                .getConstructor(OperatorID.class, int.class, int.class)
                                .newInstance(id, 2, 8);
        return (OperatorState) made;
    }

    private static OperatorStateHandle operatorState(FsCheckpointStorageAccess storage, int subtask) throws Exception {
        return new OperatorStreamStateHandle(Map.of(), file(storage, CheckpointedStateScope.EXCLUSIVE, 11 + subtask));
    }

    private static KeyedStateHandle keyedState(FsCheckpointStorageAccess storage, int subtask) throws Exception {
        KeyGroupRange keys = KeyGroupRange.of(4 * subtask, 4 * subtask + 3);
        if (subtask == 0) {
            StreamStateHandle whole = file(storage, CheckpointedStateScope.EXCLUSIVE, 21);
            return new KeyGroupsStateHandle(new KeyGroupRangeOffsets(keys), whole);
        }
        List<HandleAndLocalPath> shared =
                List.of(HandleAndLocalPath.of(file(storage, CheckpointedStateScope.SHARED, 31), "1.sst"));
        StreamStateHandle metadata = file(storage, CheckpointedStateScope.EXCLUSIVE, 33);
        return new IncrementalRemoteKeyedStateHandle(
                new UUID(0, 1), keys, CHECKPOINT, shared, List.of(), metadata);
    }

    private static StreamStateHandle file(FsCheckpointStorageAccess storage, CheckpointedStateScope scope, int size)
            throws Exception {
        CheckpointStateOutputStream stream =
                storage.resolveCheckpointStorageLocation(CHECKPOINT, OPTIONS.getTargetLocation())
                        .createCheckpointStateOutputStream(scope);
        stream.write(new byte[size]);
        return stream.closeAndGetHandle();
    }

    private static void input(ChannelStateWriter writer, int channel, byte[]... parts) {
        List<Buffer> buffers = new ArrayList<>();
        for (byte[] part : parts) {
            buffers.add(buffer(part));
        }
        writer.addInputData(
                CHECKPOINT,
                new InputChannelInfo(0, channel),
                ChannelStateWriter.SEQUENCE_NUMBER_UNKNOWN,
                CloseableIterator.fromList(buffers, Buffer::recycleBuffer));
    }

    /** A record of so many bytes, behind its length. */
    private static byte[] record(int length) {
        ByteBuffer made = ByteBuffer.allocate(Integer.BYTES + length).putInt(length);
        while (made.hasRemaining()) {
            made.put((byte) 'r');
        }
        return made.array();
    }

    private static byte[] part(byte[] bytes, int begin, int end) {
        byte[] part = new byte[end - begin];
        System.arraycopy(bytes, begin, part, 0, part.length);
        return part;
    }

    private static Buffer buffer(byte[] bytes) {
        return new NetworkBuffer(
                MemorySegmentFactory.wrap(bytes), FreeingBufferRecycler.INSTANCE, Buffer.DataType.DATA_BUFFER, bytes.length);
    }
}
