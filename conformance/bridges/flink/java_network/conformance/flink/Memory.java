package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;

/** A small network buffer pool of Flink for the consumer's side, and the buffer pool of one gate. */
final class Memory {

    private static final int SEGMENT_SIZE = 64;

    private final NetworkBufferPool all;
    private final BufferPool floating;
    /** Segments taken out of the pool, because Flink cannot make a pool of size 0. */
    private final int withheld;

    Memory(int channels, int exclusiveBuffers, int floatingBuffers) throws IOException {
        this(channels, exclusiveBuffers, floatingBuffers, SEGMENT_SIZE);
    }

    Memory(int channels, int exclusiveBuffers, int floatingBuffers, int segmentSize) throws IOException {
        int pooled = Math.max(1, floatingBuffers);
        all = new NetworkBufferPool(channels * exclusiveBuffers + pooled, segmentSize);
        floating = all.createBufferPool(pooled, pooled);
        withheld = pooled - floatingBuffers;
        for (int index = 0; index < withheld; index++) {
            floating.requestBuffer();
        }
    }

    NetworkBufferPool all() {
        return all;
    }

    BufferPool floating() {
        return floating;
    }

    /** The number of segments that were taken and not given back. */
    int taken() {
        int idle = floating.isDestroyed() ? 0 : floating.getNumberOfAvailableMemorySegments();
        return all.getNumberOfUsedMemorySegments() - idle - withheld;
    }
}
