package org.apache.flink.runtime.checkpoint.channel;

import conformance.flink.BadRequest;
import conformance.flink.FilteringTask;
import conformance.flink.TurnThread;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * Flink's reader of channel state, in a thread of its own: a scenario says which virtual channel it reads next, and how
 * much of it. Flink plans before it reads, by the offsets of all segments. So each file has segments of its virtual
 * channels in turn, and those that the scenario does not want have no bytes, which Flink skips.
 */
public final class StateFetch {

    /** How often a scenario can read of a file. */
    private static final int MOST = 1000;

    private static final long FIRST = 1L << 4; // where segments begin, behind the header of a file
    private static final long APART = 1L << 32; // more than any segment has

    /** Is asked when the content of a segment is read. */
    public interface Content {
        /** Returns how many of so many bytes are read. */
        int read(int wanted) throws IOException;

        /** What was read is dealt with, or the fetch has failed with this; null if it has not. */
        void dealtWith(Throwable failure) throws IOException;
    }

    private final TurnThread thread;
    private final Content content;
    private final File input;
    private final File upstream;
    /** What is to be read next, and where; null: nothing. */
    private Virtual wanted;

    private File wantedIn;
    private byte[] chunk;
    private boolean isEnding;
    private boolean isInterrupted;
    private boolean hasBegun;
    private Throwable failure;

    public StateFetch(List<Virtual> virtuals, InputGate[] gates, FilteringTask task, Content content)
            throws IOException {
        this.content = content;
        input = new File("input", virtuals, one -> one.inputBytes);
        upstream = new File("upstream output", virtuals, one -> one.outputBytes);
        OperatorSubtaskState.Builder state =
                OperatorSubtaskState.builder().setInputRescalingDescriptor(task.descriptor);
        setInput(state, input.handles());
        StateFetches.setUpstreamOutput(state, upstream.handles());
        TaskStateSnapshot snapshot = new TaskStateSnapshot();
        snapshot.putSubtaskStateByOperatorID(new OperatorID(0, 0), state.build());
        SequentialChannelStateReader reader = new SequentialChannelStateReaderImpl(snapshot);
        thread = new TurnThread(() -> live(reader, gates, task), "fetch");
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // the type of the elements differs between releases
    private static void setInput(OperatorSubtaskState.Builder state, List<InputChannelStateHandle> handles) {
        state.setInputChannelState(new StateObjectCollection(handles));
    }

    private void live(SequentialChannelStateReader reader, InputGate[] gates, FilteringTask task) {
        try {
            StateFetches.read(reader, gates, task);
        } catch (Throwable thrown) {
            failure = thrown;
        }
        try {
            content.dealtWith(isInterrupted ? null : failure);
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }

    /** Lets Flink read the next bytes of a virtual channel. Throws what has ended the fetch. */
    public void read(Virtual virtual, boolean isOutput, byte[] bytes) throws Exception {
        File file = isOutput && StateFetches.HAS_UPSTREAM_OUTPUT ? upstream : input;
        if (file.reads++ == MOST) {
            throw new BadRequest("channel state is read more than " + MOST + " times");
        }
        wanted = virtual;
        wantedIn = file;
        chunk = bytes;
        go();
    }

    /** Lets Flink find out that there is nothing more. Throws what has ended the fetch. */
    public void end() throws Exception {
        isEnding = true;
        go();
    }

    /** Interrupts a fetch that has begun and not ended, as a task does that ends. */
    public void interrupt() throws InterruptedException {
        isInterrupted = true;
        if (hasBegun) {
            thread.run();
        }
    }

    /** Whether everything was read, or the fetch has failed. */
    public boolean hasEnded() {
        return thread.hasEnded();
    }

    private void go() throws Exception {
        hasBegun = true;
        thread.run();
        if (failure instanceof Exception) {
            throw (Exception) failure;
        }
        if (failure != null) {
            throw (Error) failure;
        }
    }

    /** A virtual channel, and how many bytes of each kind it has. */
    public static final class Virtual {

        private final InputChannelInfo channel;
        private final int oldSubtask;
        private final int inputBytes;
        private final int outputBytes;

        public Virtual(InputChannelInfo channel, int oldSubtask, int inputBytes, int outputBytes) {
            this.channel = channel;
            this.oldSubtask = oldSubtask;
            this.inputBytes = StateFetches.HAS_UPSTREAM_OUTPUT ? inputBytes : inputBytes + outputBytes;
            this.outputBytes = StateFetches.HAS_UPSTREAM_OUTPUT ? outputBytes : 0;
        }
    }

    private interface Size {
        int of(Virtual virtual);
    }

    /** A file. It is made while it is read. */
    private final class File extends ByteStreamStateHandle {

        private static final long serialVersionUID = 1L;

        private final transient List<Virtual> virtuals;
        private final transient int times; // each of them has a segment
        private transient int reads;

        private File(String name, List<Virtual> all, Size size) throws IOException {
            super(name, header());
            virtuals = all.stream().filter(one -> size.of(one) > 0).collect(Collectors.toList());
            times = (int) Math.min(MOST, virtuals.stream().mapToLong(size::of).sum());
        }

        private List<InputChannelStateHandle> handles() {
            List<InputChannelStateHandle> handles = new ArrayList<>();
            for (int number = 0; number < virtuals.size(); number++) {
                Virtual one = virtuals.get(number);
                List<Long> offsets = new ArrayList<>();
                for (long time = 0; time < times; time++) {
                    offsets.add(FIRST + APART * (time * virtuals.size() + number));
                }
                handles.add(new InputChannelStateHandle(one.oldSubtask, one.channel, this, offsets, 0));
            }
            return handles;
        }

        /** The segment at this place: its length, then its content. Waits until the scenario reads something. */
        private byte[] segment(long offset) throws IOException {
            content.dealtWith(null);
            Virtual virtual = virtuals.get((int) ((offset - FIRST) / APART % virtuals.size()));
            while (wanted == null && !isEnding && !isInterrupted) {
                pause();
            }
            if (isInterrupted) {
                throw new ClosedByInterruptException();
            }
            boolean isWanted = wanted == virtual && wantedIn == this;
            byte[] bytes = isWanted ? chunk : new byte[0];
            wanted = isWanted ? null : wanted;
            return ByteBuffer.allocate(Integer.BYTES + bytes.length).putInt(bytes.length).put(bytes).array();
        }

        @Override
        public FSDataInputStream openInputStream() {
            return new Stream(this, getData());
        }
    }

    private static byte[] header() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ChannelStateSerializerImpl().writeHeader(new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static void pause() throws IOException {
        try {
            TurnThread.pause();
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
    }

    /** Reads the header, or a segment to which it was moved. */
    private final class Stream extends FSDataInputStream {

        private final File file;
        private ByteBuffer bytes;
        private long start;

        private Stream(File file, byte[] header) {
            this.file = file;
            bytes = ByteBuffer.wrap(header);
        }

        @Override
        public void seek(long position) throws IOException {
            bytes = ByteBuffer.wrap(file.segment(position));
            start = position;
        }

        @Override
        public long getPos() {
            return start + bytes.position();
        }

        @Override
        public int read() {
            return bytes.hasRemaining() ? bytes.get() & 0xff : -1;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            if (!bytes.hasRemaining()) {
                return -1;
            }
            int most = Math.min(length, bytes.remaining());
            boolean isContent = start > 0 && bytes.position() >= Integer.BYTES;
            int read = isContent ? content.read(most) : most;
            bytes.get(into, offset, read);
            return read;
        }
    }
}
