import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
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
import org.apache.flink.runtime.state.ChannelStateHelper;
import org.apache.flink.runtime.state.CheckpointMetadataOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;
import org.apache.flink.util.CloseableIterator;

/**
 * Writes checkpoint 4 of two subtasks that share a channel state file, with Flink's own writer, file system storage and
 * metadata. Arguments: the folder; below how many bytes state is kept in _metadata.
 */
public final class WriteCheckpoint {

    private static final long CHECKPOINT = 4;
    private static final CheckpointOptions OPTIONS =
            CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault());

    private WriteCheckpoint() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int threshold = Integer.parseInt(arguments[1]);
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
        OperatorState operator = new OperatorState("operator", "uid", new OperatorID(0, 3), 2, 8);
        for (int subtask = 0; subtask < 2; subtask++) {
            operator.putState(
                    subtask,
                    OperatorSubtaskState.builder()
                            .setInputChannelState(
                                    ChannelStateHelper.castToInputStateCollection(
                                            results.get(subtask).getInputChannelStateHandles().get()))
                            .setResultSubpartitionState(
                                    ChannelStateHelper.castToOutputStateCollection(
                                            results.get(subtask).getResultSubpartitionStateHandles().get()))
                            .build());
            writers.get(subtask).close();
        }
        try (CheckpointMetadataOutputStream stream = location.createMetadataOutputStream()) {
            Checkpoints.storeCheckpointMetadata(
                    new CheckpointMetadata(CHECKPOINT, List.of(operator), List.of()), stream);
            stream.closeAndFinalizeCheckpoint();
        }
        System.exit(0);
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
