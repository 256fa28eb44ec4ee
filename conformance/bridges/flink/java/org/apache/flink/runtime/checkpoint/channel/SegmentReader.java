package org.apache.flink.runtime.checkpoint.channel;

import java.io.EOFException;
import java.io.IOException;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.StreamStateHandle;

/** Reads channel state with Flink's serializer, which only its own package may call. */
public final class SegmentReader implements AutoCloseable {

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

    /** The content of the segment at this place. */
    public byte[] segment(long offset) throws IOException {
        stream.seek(offset);
        int length = serializer.readLength(stream);
        if (length > size - offset - Integer.BYTES) {
            throw new EOFException("a segment of " + length + " bytes must begin here; its file ends before that");
        }
        byte[] bytes = new byte[length];
        ChannelStateByteBuffer buffer = ChannelStateByteBuffer.wrap(bytes);
        for (int left = length; left > 0; ) {
            int read = serializer.readData(stream, buffer, left);
            if (read <= 0) {
                throw new EOFException("the segment ends " + left + " bytes too early");
            }
            left -= read;
        }
        return bytes;
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
