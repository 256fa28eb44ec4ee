package conformance.flink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStateToolset;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * The checkpoint storage of channel state writers, in memory, also if a scenario asks for real files: what writes those
 * is not the channel state writer. A file exists from the moment in which it is made, until
 * it is closed without a handle.
 */
final class StateFiles implements CheckpointStorageWorkerView {

    static final String OPEN = "state-file-open";
    static final String WRITE = "state-file-write";
    static final String FLUSH = "state-file-flush";
    static final String CLOSE = "state-file-close";

    private static final int HEADER = Integer.BYTES;

    private final Faults faults;
    private final List<Long> checkpoints = Collections.synchronizedList(new ArrayList<>()); // of the files that exist
    private int open;
    private int made;

    StateFiles(Faults faults) {
        this.faults = faults;
    }

    /** The checkpoints of the files that exist, in ascending order. */
    List<Long> existing() {
        List<Long> all = new ArrayList<>(checkpoints);
        all.sort(null);
        return all;
    }

    /** How many files are open. */
    int open() {
        return open;
    }

    @Override
    public CheckpointStreamFactory resolveCheckpointStorageLocation(
            long checkpoint, CheckpointStorageLocationReference reference) {
        return new CheckpointStreamFactory() {
            @Override
            public CheckpointStateOutputStream createCheckpointStateOutputStream(CheckpointedStateScope scope)
                    throws IOException {
                strike(OPEN);
                return new Stream(checkpoint);
            }

            @Override
            public boolean canFastDuplicate(StreamStateHandle handle, CheckpointedStateScope scope) {
                return false;
            }

            @Override
            public List<StreamStateHandle> duplicate(List<StreamStateHandle> handles, CheckpointedStateScope scope) {
                throw new UnsupportedOperationException();
            }
        };
    }

    @Override
    public CheckpointStateOutputStream createTaskOwnedStateStream() {
        throw new UnsupportedOperationException();
    }

    @Override
    public CheckpointStateToolset createTaskOwnedCheckpointStateToolset() {
        throw new UnsupportedOperationException();
    }

    private void strike(String place) throws IOException {
        if (faults.strike(place) != null) {
            throw Faults.failure(place);
        }
    }

    /** A file that is being written. */
    private final class Stream extends CheckpointStateOutputStream {

        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final Long checkpoint;
        private boolean isClosed;

        private Stream(long checkpoint) {
            this.checkpoint = checkpoint;
            checkpoints.add(this.checkpoint);
            open++;
        }

        @Override
        public void write(int single) throws IOException {
            strikeBehindHeader();
            bytes.write(single);
        }

        @Override
        public void write(byte[] array, int offset, int length) throws IOException {
            strikeBehindHeader();
            bytes.write(array, offset, length);
        }

        /** The place is where a buffer is written, not the header. */
        private void strikeBehindHeader() throws IOException {
            if (bytes.size() >= HEADER) {
                strike(WRITE);
            }
        }

        @Override
        public long getPos() {
            return bytes.size();
        }

        @Override
        public void flush() throws IOException {
            if (!isClosed) {
                strike(FLUSH);
            }
        }

        @Override
        public void sync() {}

        @Override
        public StreamStateHandle closeAndGetHandle() throws IOException {
            strike(CLOSE);
            end();
            return new ByteStreamStateHandle("channel state " + made++, bytes.toByteArray());
        }

        /** Deletes the file, since nobody has a handle of it; also if it cannot be closed. */
        @Override
        public void close() throws IOException {
            if (isClosed) {
                return;
            }
            end();
            checkpoints.remove(checkpoint);
            strike(CLOSE);
        }

        private void end() {
            isClosed = true;
            open--;
        }
    }
}
