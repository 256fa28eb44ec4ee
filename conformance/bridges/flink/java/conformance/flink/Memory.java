package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;

/** Flink's memory for the consumer's side of the network, small, and a part of it for one gate. */
final class Memory {

    private static final int SEGMENT_SIZE = 64;
    private static final int SPARE = 4;

    private final NetworkBufferPool all;
    private final BufferPool floating;
    /** Segments that nobody may have: a pool of none cannot be made. */
    private final int withheld;

    Memory(int channels, int exclusiveBuffers, int floatingBuffers) throws IOException {
        int pooled = Math.max(1, floatingBuffers);
        // A recovered channel and the physical one after it may have exclusive buffers at once.
        all = new NetworkBufferPool(2 * channels * exclusiveBuffers + pooled + SPARE, SEGMENT_SIZE);
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

    /** Segments that somebody took, and that have not come back. */
    int taken() {
        int idle = floating.isDestroyed() ? 0 : floating.getNumberOfAvailableMemorySegments();
        return all.getNumberOfUsedMemorySegments() - idle - withheld;
    }
}
