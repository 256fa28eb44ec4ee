package conformance.flink.job;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.core.io.InputStatus;

/** Emits the number of each unit that it has finished, and reports it to the enumerator. */
final class LedgerReader implements SourceReader<Integer, UnitSplit> {

    private final SourceReaderContext context;
    private final int subtask;
    private final Settings settings = Settings.current;
    private long restoredFrom = -1;
    private long lastSnapshot = -1;
    private Ledger received = new Ledger();
    private Ledger reported = new Ledger();
    private final Queue<Integer> pending = new ArrayDeque<>();
    private boolean noMore;
    private CompletableFuture<Void> available = new CompletableFuture<>();

    LedgerReader(SourceReaderContext context) {
        this.context = context;
        this.subtask = context.getIndexOfSubtask();
        Cuts.started(subtask);
    }

    @Override
    public void start() {
        context.sendSourceEventToCoordinator(new Messages.Hello(restoredFrom, pending.size()));
        requestIfIdle();
    }

    @Override
    public InputStatus pollNext(ReaderOutput<Integer> output) throws Exception {
        Faults.readerPolls(subtask, lastSnapshot);
        if (pending.isEmpty()) {
            if (noMore) {
                Cuts.finished(state(Long.MAX_VALUE));
                return InputStatus.END_OF_INPUT;
            }
            if (available.isDone()) {
                available = new CompletableFuture<>();
            }
            return InputStatus.NOTHING_AVAILABLE;
        }
        if (settings.busyMillis > 0) {
            Thread.sleep(settings.busyMillis); // in the mailbox, so that events and barriers wait
        }
        int unit = pending.remove();
        output.collect(unit, unit);
        reported.add(unit);
        context.sendSourceEventToCoordinator(new Messages.Report(unit));
        requestIfIdle();
        return InputStatus.MORE_AVAILABLE;
    }

    private void requestIfIdle() {
        if (settings.onRequest && pending.isEmpty() && !noMore) {
            context.sendSplitRequest();
        }
    }

    @Override
    public List<UnitSplit> snapshotState(long checkpoint) {
        Faults.readerSnapshots(subtask, checkpoint);
        lastSnapshot = checkpoint;
        ReaderState state = state(checkpoint);
        Cuts.reader(state);
        return List.of(new UnitSplit(state));
    }

    private ReaderState state(long checkpoint) {
        Ledger left = new Ledger();
        pending.forEach(left::add);
        return new ReaderState(
                subtask, checkpoint, new Ledger(received.copy()), new Ledger(reported.copy()), left);
    }

    @Override
    public void addSplits(List<UnitSplit> splits) {
        for (UnitSplit split : splits) {
            if (split.state == null) {
                received.add(split.unit);
                pending.add(split.unit);
            } else {
                restore(split.state);
            }
        }
        available.complete(null);
    }

    private void restore(ReaderState state) {
        if (state.subtask != subtask) {
            throw new IllegalStateException("The state of reader " + state.subtask + " came to reader " + subtask);
        }
        restoredFrom = state.checkpoint;
        received = state.received;
        reported = state.reported;
        for (int unit : state.pending.copy()) {
            pending.add(unit);
        }
        noMore = received.contains(Ledger.NO_MORE);
    }

    @Override
    public void notifyNoMoreSplits() {
        received.add(Ledger.NO_MORE);
        noMore = true;
        available.complete(null);
    }

    @Override
    public void handleSourceEvents(SourceEvent event) {
        received.add(Ledger.notice(((Messages.Notice) event).number));
    }

    @Override
    public void pauseOrResumeSplits(Collection<String> toPause, Collection<String> toResume) {
        // Units are not read in parallel, so there is nothing to align within a reader.
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return available;
    }

    @Override
    public void close() {}
}
