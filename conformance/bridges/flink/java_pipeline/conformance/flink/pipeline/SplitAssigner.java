package conformance.flink.pipeline;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

/** Assigns splits to readers without being asked. All but {@code wake} and {@code fail} is called by one thread. */
final class SplitAssigner implements SplitEnumerator<Split, Split[]> {

    private final LiveJob job;
    private final int vertex;
    private final SplitEnumeratorContext<Split> context;
    private final Queue<Split> unassigned;
    private final Set<Integer> told = new HashSet<>(); // readers that know that no split follows
    private int next; // the reader that gets the next split

    SplitAssigner(LiveJob job, int vertex, SplitEnumeratorContext<Split> context, List<Split> unassigned) {
        this.job = job;
        this.vertex = vertex;
        this.context = context;
        this.unassigned = new ArrayDeque<>(unassigned);
    }

    @Override
    public void start() {
        job.opened(vertex, this);
    }

    /** Any thread: the scenario has done something. */
    void wake() {
        context.runInCoordinatorThread(this::assign);
    }

    /** Any thread: all tasks are to be restarted. */
    void fail(Failures.MadeToFail cause) {
        context.runInCoordinatorThread(
                () -> {
                    throw new IllegalStateException(cause);
                });
    }

    private void assign() {
        // Every reader is there before the first split is assigned, so that each gets its share.
        int readers = context.currentParallelism();
        if (context.registeredReaders().size() == readers) {
            while (!unassigned.isEmpty()) {
                context.assignSplit(unassigned.remove(), next++ % readers);
            }
        }
        if (unassigned.isEmpty() && job.isEnded(vertex)) {
            for (int subtask : context.registeredReaders().keySet()) {
                if (told.add(subtask)) {
                    context.signalNoMoreSplits(subtask);
                }
            }
        }
    }

    @Override
    public void handleSplitRequest(int subtask, String host) {
        throw new UnsupportedOperationException("readers ask for no split");
    }

    @Override
    public void addSplitsBack(List<Split> splits, int subtask) {
        unassigned.addAll(splits);
        told.remove(subtask);
        assign();
    }

    @Override
    public void addReader(int subtask) {
        told.remove(subtask);
        assign();
    }

    @Override
    public Split[] snapshotState(long checkpoint) throws Exception {
        job.failures.here("operator-coordinator");
        return unassigned.toArray(Split[]::new);
    }

    @Override
    public void close() {
        job.closed(vertex, this);
    }
}
