import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

/** Assigns a split to each reader that asks for one. Its state is the splits that nobody has. */
public class PullEnumerator<S extends SourceSplit> implements SplitEnumerator<S, Collection<S>> {

    private final SplitEnumeratorContext<S> context;
    private final Queue<S> unassigned;
    private final List<S> known = new ArrayList<>();

    /** Begins, or goes on after a restore, with the splits that nobody has. */
    public PullEnumerator(SplitEnumeratorContext<S> context, Collection<S> unassigned) {
        this.context = context;
        this.unassigned = new ArrayDeque<>(unassigned);
        known.addAll(unassigned);
    }

    @Override
    public void start() {}

    @Override
    public void handleSplitRequest(int subtask, String host) {
        if (unassigned.isEmpty()) {
            context.signalNoMoreSplits(subtask);
        } else {
            context.assignSplit(unassigned.remove(), subtask);
        }
    }

    @Override
    public void addSplitsBack(List<S> splits, int subtask) {
        unassigned.addAll(splits);
    }

    @Override
    public void addReader(int subtask) {}

    @Override
    public Collection<S> snapshotState(long checkpoint) {
        boolean forgets = Boolean.getBoolean("forgets"); // a bug to try: JAVA_TOOL_OPTIONS=-Dforgets=true
        return new ArrayList<>(forgets ? known : unassigned);
    }

    @Override
    public void close() {}
}
