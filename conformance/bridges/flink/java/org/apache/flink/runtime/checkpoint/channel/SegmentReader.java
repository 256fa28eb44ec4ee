package org.apache.flink.runtime.checkpoint.channel;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.StreamStateHandle;

/** Reads channel state with Flink's serializer, which only its own package may call. */
public final class SegmentReader implements AutoCloseable {

    private static final int MOST_AT_ONCE = 1 << 16;

    private final ChannelStateSerializerImpl serializer = new ChannelStateSerializerImpl();
    private final FSDataInputStream stream;
    private final long size;

    /** {@code size}: of what the handle stands for, in bytes; nothing is read behind it. */
    public SegmentReader(StreamStateHandle handle, long size) throws IOException {
        stream = handle.openInputStream();
        this.size = size;
    }

    /** Returns how long the header is. Throws if it is not one that this release writes. */
    public long header() throws IOException {
        serializer.readHeader(stream);
        return serializer.getHeaderLength();
    }

    /** Passes on the content of the segment at this place. Returns its length. */
    public int read(long offset, OutputStream content) throws IOException {
        stream.seek(offset);
        int length = serializer.readLength(stream);
        if (length > size - offset - Integer.BYTES) {
            throw new EOFException("a segment of " + length + " bytes must begin here; its file ends before that");
        }
        for (int left = length; left > 0; ) {
            byte[] part = new byte[Math.min(left, MOST_AT_ONCE)]; // Flink fills all of it, whatever it is asked for
            int read = serializer.readData(stream, ChannelStateByteBuffer.wrap(part), part.length);
            if (read <= 0) {
                throw new EOFException("the segment ends " + left + " bytes too early");
            }
            content.write(part, 0, read);
            left -= read;
        }
        return length;
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
