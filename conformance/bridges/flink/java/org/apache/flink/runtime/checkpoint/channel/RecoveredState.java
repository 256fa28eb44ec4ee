package org.apache.flink.runtime.checkpoint.channel;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataInputStreamWrapper;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.InputStateHandle;
import org.apache.flink.runtime.state.OutputStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/** The channel state that a task recovers from, as Flink stores it: one file for the input, one for the output. */
public final class RecoveredState {

    /** Is called with what is read out of a file. */
    public interface Reading {
        /** A segment is about to be read. */
        void begins() throws IOException;

        /** Its content is about to be read, into a buffer that the reader holds. */
        void fills() throws IOException;
    }

    private final List<InputStateHandle> inputs = new ArrayList<>();
    private final List<OutputStateHandle> outputs = new ArrayList<>();

    /** Each channel has a segment for each of its buffers. {@code content}: by gate and channel, the buffers. */
    public void addInput(List<List<List<byte[]>>> content, Reading reading) throws IOException {
        StateFile file = new StateFile();
        List<List<Long>> offsets = new ArrayList<>();
        for (List<List<byte[]>> gate : content) {
            for (List<byte[]> channel : gate) {
                offsets.add(file.write(channel));
            }
        }
        ByteStreamStateHandle handle = file.close("recovered input", reading);
        int number = 0;
        for (int gate = 0; gate < content.size(); gate++) {
            for (int channel = 0; channel < content.get(gate).size(); channel++, number++) {
                if (!offsets.get(number).isEmpty()) {
                    InputChannelInfo info = new InputChannelInfo(gate, channel);
                    inputs.add(new InputChannelStateHandle(info, handle, offsets.get(number)));
                }
            }
        }
    }

    /** The buffers of the only subpartition of the first partition. */
    public void addOutput(List<byte[]> content, Reading reading) throws IOException {
        StateFile file = new StateFile();
        List<Long> offsets = file.write(content);
        ByteStreamStateHandle handle = file.close("recovered output", reading);
        if (!offsets.isEmpty()) {
            outputs.add(new ResultSubpartitionStateHandle(new ResultSubpartitionInfo(0, 0), handle, offsets));
        }
    }

    /** What reads it, as a task is given it. */
    public SequentialChannelStateReader reader(OperatorID operator) {
        OperatorSubtaskState state =
                OperatorSubtaskState.builder()
                        .setInputChannelState(new StateObjectCollection<>(inputs))
                        .setResultSubpartitionState(new StateObjectCollection<>(outputs))
                        .build();
        TaskStateSnapshot snapshot = new TaskStateSnapshot();
        snapshot.putSubtaskStateByOperatorID(operator, state);
        return new SequentialChannelStateReaderImpl(snapshot);
    }

    /** A file that is being written. */
    private static final class StateFile {

        private final ChannelStateSerializer serializer = new ChannelStateSerializerImpl();
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream stream = new DataOutputStream(bytes);

        private StateFile() throws IOException {
            serializer.writeHeader(stream);
        }

        /** Returns where each of them begins. */
        private List<Long> write(List<byte[]> buffers) throws IOException {
            List<Long> offsets = new ArrayList<>();
            for (byte[] content : buffers) {
                offsets.add((long) stream.size());
                serializer.writeData(
                        stream,
                        new NetworkBuffer(
                                MemorySegmentFactory.wrap(content),
                                FreeingBufferRecycler.INSTANCE,
                                Buffer.DataType.DATA_BUFFER,
                                content.length));
            }
            return offsets;
        }

        private ByteStreamStateHandle close(String name, Reading reading) {
            return new WatchedHandle(name, bytes.toByteArray(), reading);
        }
    }

    private static final class WatchedHandle extends ByteStreamStateHandle {

        private static final long serialVersionUID = 1L;

        private final transient Reading reading;

        private WatchedHandle(String name, byte[] content, Reading reading) {
            super(name, content);
            this.reading = reading;
        }

        @Override
        public FSDataInputStream openInputStream() throws IOException {
            return new FSDataInputStreamWrapper(super.openInputStream()) {

                private long content = Long.MAX_VALUE; // where that of the segment begins

                /** {@code ChannelStateChunkReader.readChunk} asks for the position first, once for each segment. */
                @Override
                public long getPos() throws IOException {
                    reading.begins();
                    long segment = super.getPos();
                    content = segment + Integer.BYTES; // the length stands in front
                    return segment;
                }

                @Override
                public int read() throws IOException {
                    tellIfContent();
                    return super.read();
                }

                @Override
                public int read(byte[] into) throws IOException {
                    return read(into, 0, into.length);
                }

                @Override
                public int read(byte[] into, int offset, int length) throws IOException {
                    tellIfContent();
                    return super.read(into, offset, length);
                }

                private void tellIfContent() throws IOException {
                    if (super.getPos() >= content) {
                        reading.fills();
                    }
                }
            };
        }
    }
}
