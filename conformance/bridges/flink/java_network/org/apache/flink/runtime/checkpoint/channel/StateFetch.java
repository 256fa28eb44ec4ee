package org.apache.flink.runtime.checkpoint.channel;

import java.io.IOException;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.io.network.buffer.Buffer;

/** What {@code SequentialChannelStateReaderImpl.readInputData} does, one chunk at a time. */
public abstract class StateFetch {

    private final ChannelStateChunkReader reader = new ChannelStateChunkReader(new ChannelStateSerializerImpl());
    private final RecoveredChannelStateHandler<InputChannelInfo, Buffer> handler;
    private boolean isClosed;

    protected StateFetch(RecoveredChannelStateHandler<InputChannelInfo, Buffer> handler) {
        this.handler = handler;
    }

    /** Reads a segment. If that fails, the fetch is over. */
    public void read(FSDataInputStream segment, InputChannelInfo channel, int oldSubtask)
            throws IOException, InterruptedException {
        try {
            reader.readChunk(segment, 0, handler, channel, oldSubtask);
        } catch (Throwable failed) {
            closeAfter(failed);
            throw failed;
        }
    }

    /** Everything was read. */
    public void end() throws IOException {
        try {
            checkEnd();
        } catch (Throwable failed) {
            closeAfter(failed);
            throw failed;
        }
        close();
    }

    /** Whether everything was read, or the fetch has failed. */
    public boolean isClosed() {
        return isClosed;
    }

    /** Closes everything, as a try statement does. */
    public void close() throws IOException {
        if (!isClosed) {
            isClosed = true;
            try {
                handler.close();
            } catch (Exception failed) {
                throw failed instanceof IOException ? (IOException) failed : new IOException(failed);
            } finally {
                closeFilter();
            }
        }
    }

    private void closeAfter(Throwable failed) {
        try {
            close();
        } catch (Throwable alsoFailed) {
            failed.addSuppressed(alsoFailed);
        }
    }

    /** Throws if a record has not ended. */
    protected abstract void checkEnd();

    protected abstract void closeFilter();
}
