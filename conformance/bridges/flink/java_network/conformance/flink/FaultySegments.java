package conformance.flink;

import java.io.IOException;
import java.util.Collection;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentProvider;

/** The exclusive buffers of Flink's {@code NetworkBufferPool}, of which the next request can fail. */
final class FaultySegments implements MemorySegmentProvider {

    static final String PLACE = "network-buffer-pool";

    private final MemorySegmentProvider pool;
    private final Faults faults;

    FaultySegments(MemorySegmentProvider pool, Faults faults) {
        this.pool = pool;
        this.faults = faults;
    }

    @Override
    public Collection<MemorySegment> requestUnpooledMemorySegments(int count) throws IOException {
        if (faults.strike(PLACE) != null) {
            throw Faults.failure(PLACE);
        }
        return pool.requestUnpooledMemorySegments(count);
    }

    @Override
    public void recycleUnpooledMemorySegments(Collection<MemorySegment> segments) throws IOException {
        pool.recycleUnpooledMemorySegments(segments);
    }
}
