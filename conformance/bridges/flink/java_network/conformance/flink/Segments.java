package conformance.flink;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.shaded.netty4.io.netty.buffer.ByteBuf;

/** Allocates the memory of data buffers, counts it, and writes record ids into it. */
final class Segments implements BufferRecycler {

    private static final int SEGMENT_SIZE = 4096;

    private int taken;

    /** The number of segments that were taken and not given back. */
    int taken() {
        return taken;
    }

    BufferBuilder take() {
        taken++;
        return new BufferBuilder(MemorySegmentFactory.allocateUnpooledSegment(SEGMENT_SIZE), this);
    }

    /** A whole buffer with these records. */
    Buffer buffer(int... ids) {
        taken++;
        return fill(new NetworkBuffer(MemorySegmentFactory.allocateUnpooledSegment(SEGMENT_SIZE), this), ids);
    }

    /** Writes records into an empty buffer. */
    static Buffer fill(Buffer buffer, int... ids) {
        buffer.setSize(0);
        ByteBuf bytes = buffer.asByteBuf();
        for (int id : ids) {
            bytes.writeInt(id);
        }
        return buffer;
    }

    @Override
    public void recycle(MemorySegment segment) {
        taken--;
        segment.free(); // so that a later read fails
    }

    /** Writes ids and makes them readable. */
    static void append(BufferBuilder builder, int[] ids) throws BadRequest {
        ByteBuffer bytes = ByteBuffer.allocate(ids.length * Integer.BYTES);
        for (int id : ids) {
            bytes.putInt(id);
        }
        bytes.flip();
        if (bytes.remaining() > builder.getWritableBytes()) {
            throw new BadRequest("more records than fit into one segment of " + SEGMENT_SIZE + " bytes");
        }
        builder.appendAndCommit(bytes);
    }

    static List<Integer> read(Buffer buffer) {
        ByteBuffer bytes = buffer.getNioBufferReadable();
        if (bytes.remaining() % Integer.BYTES != 0) {
            throw new Garbled("a buffer of " + bytes.remaining() + " bytes does not hold whole records");
        }
        List<Integer> ids = new ArrayList<>();
        while (bytes.hasRemaining()) {
            ids.add(bytes.getInt());
        }
        return ids;
    }

    /** Flink returned something that cannot have been added. It is no error of the port, so it counts as a crash. */
    static final class Garbled extends RuntimeException {

        private static final long serialVersionUID = 1L;

        Garbled(String reason) {
            super(reason);
        }
    }
}
