package conformance.flink.pipeline;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
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
    private final SplitEnumerator<Split, Collection<Split>> own; // the user's, which does all this; null: there is none

    SplitAssigner(LiveJob job, int vertex, SplitEnumeratorContext<Split> context, List<Split> unassigned) {
        this.job = job;
        this.vertex = vertex;
        this.context = context;
        this.unassigned = new ArrayDeque<>(unassigned);
        own = OwnEnumerator.IS_THERE ? OwnEnumerator.make(context, new ArrayList<>(unassigned)) : null;
    }

    @Override
    public void start() {
        job.opened(vertex, this);
        if (own != null) {
            own.start();
        }
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
        if (own != null) {
            return;
        }
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
        if (own != null) {
            own.handleSplitRequest(subtask, host);
            return;
        }
        throw new UnsupportedOperationException("readers ask for no split");
    }

    @Override
    public void addSplitsBack(List<Split> splits, int subtask) {
        if (own != null) {
            own.addSplitsBack(splits, subtask);
            return;
        }
        unassigned.addAll(splits);
        told.remove(subtask);
        assign();
    }

    @Override
    public void addReader(int subtask) {
        if (own != null) {
            own.addReader(subtask);
            return;
        }
        told.remove(subtask);
        assign();
    }

    @Override
    public Split[] snapshotState(long checkpoint) throws Exception {
        job.failures.here("operator-coordinator");
        if (own != null) {
            return own.snapshotState(checkpoint).toArray(Split[]::new);
        }
        return unassigned.toArray(Split[]::new);
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) throws Exception {
        if (own != null) {
            own.notifyCheckpointComplete(checkpoint);
        }
    }

    @Override
    public void close() throws IOException {
        job.closed(vertex, this);
        if (own != null) {
            own.close();
        }
    }
}
