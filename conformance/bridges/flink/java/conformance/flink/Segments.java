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

/** Where the memory of data buffers comes from and goes back to; and how record ids are written into it. */
final class Segments implements BufferRecycler {

    private static final int SEGMENT_SIZE = 4096;

    private int taken;

    /** How many segments have been taken and not come back. */
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
        segment.free(); // whoever reads it later fails, instead of reading what was there
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

    /** What came out is not what can have gone in. Not a kind of error of the port: it counts as a crash. */
    static final class Garbled extends RuntimeException {

        private static final long serialVersionUID = 1L;

        Garbled(String reason) {
            super(reason);
        }
    }
}
