package conformance.flink.pipeline;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;

/** Emits the records of its splits as far as they exist, those of each split in their order, splits in turn. */
final class SplitReader implements SourceReader<byte[], Split> {

    /** What reading costs: sources that are busy send their barriers at different moments. */
    private static final long COST_NANOS = 300_000;
    /** What it costs at most to open a split. A trigger waits, so that barriers come further apart than snapshots take. */
    private static final int OPENING_MICROS = Integer.getInteger("conformance.opening.micros");

    private final LiveJob job;
    private final JobPlan.Vertex vertex;
    private final int task;
    private final Runnable asks;
    private boolean started;
    private final Map<Integer, Integer> offsets = new ConcurrentHashMap<>(); // by split; others read it
    private final List<Integer> turns = new ArrayList<>();
    private final Set<Integer> opened = new HashSet<>();
    private final Random opening;
    private int turn;
    private long probe; // the last watermark
    private boolean noMore;
    private volatile Runnable failing;
    private volatile CompletableFuture<Void> available = new CompletableFuture<>();

    SplitReader(LiveJob job, JobPlan.Vertex vertex, int subtask, Runnable asks) {
        this.job = job;
        this.vertex = vertex;
        this.asks = asks;
        task = vertex.firstTask + subtask;
        opening = new Random(job.number << 16 | task);
        job.failures.here("operators-open");
        if (job.restores()) {
            job.failures.here(task, "in-restore");
        }
        job.opened(task, this);
    }

    @Override
    public void start() {
        started = true;
        asks.run();
    }

    /** Any thread: there may be something to do. */
    void wake() {
        available.complete(null);
    }

    /** Any thread: the task fails when it polls next. */
    void fail(Runnable by) {
        failing = by;
        wake();
    }

    Map<Integer, Integer> offsets() {
        return offsets;
    }

    @Override
    public InputStatus pollNext(ReaderOutput<byte[]> output) throws Exception {
        if (available.isDone()) {
            available = new CompletableFuture<>();
        }
        // What others change from here on they say by completing that future.
        if (failing != null) {
            failing.run();
        }
        if (job.isThrottled(task)) {
            return InputStatus.NOTHING_AVAILABLE;
        }
        for (int tried = 0; tried < turns.size(); tried++) {
            int split = turns.get(turn++ % turns.size());
            int offset = offsets.get(split);
            if (offset < job.world.supplied(split)) {
                output.collect(Records.bytes(split * Records.OF_A_SPLIT + offset));
                offsets.put(split, offset + 1);
                job.progress.incrementAndGet();
                LockSupport.parkNanos(opened.add(split) ? 1_000L * opening.nextInt(OPENING_MICROS) : COST_NANOS);
                return InputStatus.MORE_AVAILABLE;
            }
        }
        long wanted = job.probe();
        if (wanted > probe) {
            probe = wanted;
            output.emitWatermark(new Watermark(wanted));
            job.progress.incrementAndGet();
            return InputStatus.MORE_AVAILABLE;
        }
        return noMore && job.isEnded(vertex.number) ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return available;
    }

    @Override
    public List<Split> snapshotState(long checkpoint) {
        List<Split> splits = new ArrayList<>();
        job.failures.cut(task, checkpoint);
        offsets.forEach((split, offset) -> splits.add(new Split(split, offset)));
        job.progress.incrementAndGet();
        return splits;
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) throws Exception {
        job.noticed(task, checkpoint);
    }

    @Override
    public void addSplits(List<Split> splits) {
        for (Split split : splits) {
            offsets.put(split.number(), split.offset());
            turns.add(split.number());
        }
        if (started) { // restored splits are added before the reader is registered, which must not ask then
            asks.run();
        }
        wake();
    }

    @Override
    public void notifyNoMoreSplits() {
        noMore = true;
        wake();
    }

    @Override
    public void close() {
        job.closed(task, this);
    }
}
