package conformance.flink.job;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

/** Sends units to readers and keeps its books. Everything here runs on the thread of the source coordinator. */
final class LedgerEnumerator implements SplitEnumerator<UnitSplit, EnumeratorState> {

    /** So many units a reader may have to do before it gets no more of them in bursts. */
    private static final int MOST_PENDING = 64;
    /** So many cuts are remembered. A restart goes back to one of the last. */
    private static final int MOST_REMEMBERED = 1000;

    private final SplitEnumeratorContext<UnitSplit> context;
    private final Settings settings = Settings.current;
    private final Books books;
    private final boolean[] ready; // its reader said hello
    private final boolean[] told; // that there are no more splits
    private final int[] pending; // what its reader has to do, as far as is known here
    private final Random random;
    /** How long the ledgers of each subtask were at a cut: those of what was sent, then those of the reports. */
    private final TreeMap<Long, int[][]> lengths = new TreeMap<>();

    LedgerEnumerator(SplitEnumeratorContext<UnitSplit> context, EnumeratorState restored) {
        this.context = context;
        int parallelism = context.currentParallelism();
        books = restored == null ? new Books(parallelism) : new Books(restored);
        ready = new boolean[parallelism];
        told = new boolean[parallelism];
        pending = new int[parallelism];
        random = new Random(settings.seed + books.next());
        if (restored != null) {
            lengths.put(restored.checkpoint, books.lengths());
        }
    }

    @Override
    public void start() {
        if (!settings.onRequest) {
            context.callAsync(() -> true, (ignored, error) -> burst(), settings.periodMillis, settings.periodMillis);
        }
        if (settings.noticeMillis > 0) {
            context.callAsync(() -> true, (ignored, error) -> notice(), settings.noticeMillis, settings.noticeMillis);
        }
    }

    private void burst() {
        Faults.enumeratorActs();
        // All readers, or one of them.
        int chosen = random.nextInt(ready.length + 1);
        for (int subtask = 0; subtask < ready.length; subtask++) {
            if (chosen == ready.length || chosen == subtask || !Faults.newUnits(subtask)) {
                sendSome(subtask, settings.burst);
            }
        }
    }

    private void sendSome(int subtask, int units) {
        for (int sent = 0; sent < units && canSendTo(subtask); sent++) {
            if (pending[subtask] >= MOST_PENDING || !sendOne(subtask)) {
                return;
            }
        }
    }

    /** A reader that has failed is not registered any more, some time before its splits are given back. */
    private boolean canSendTo(int subtask) {
        return ready[subtask] && !told[subtask] && context.registeredReaders().containsKey(subtask);
    }

    /** Sends a unit, or says that no more will follow. Returns whether it sent a unit. */
    private boolean sendOne(int subtask) {
        int unit = books.takeUnit(Faults.newUnits(subtask));
        if (unit < 0) {
            context.signalNoMoreSplits(subtask);
            told[subtask] = true;
        } else {
            context.assignSplit(new UnitSplit(unit), subtask);
            pending[subtask]++;
            Lines.assigned();
        }
        books.sent[subtask].add(unit);
        return unit >= 0;
    }

    private void notice() {
        int entry = Ledger.notice(books.notices);
        for (int subtask : context.registeredReaders().keySet()) {
            if (ready[subtask]) {
                context.sendEventToSourceReader(subtask, new Messages.Notice(books.notices));
                books.sent[subtask].add(entry);
            }
        }
        books.notices++;
    }

    @Override
    public void handleSplitRequest(int subtask, String host) {
        Faults.enumeratorActs();
        if (canSendTo(subtask)) {
            sendOne(subtask);
        }
    }

    @Override
    public void handleSourceEvent(int subtask, SourceEvent event) {
        if (event instanceof Messages.Report) {
            books.reports[subtask].add(((Messages.Report) event).unit);
            pending[subtask]--;
        } else {
            hello(subtask, (Messages.Hello) event);
        }
    }

    /** A reader has started. What was done with it after the checkpoint that it was restored from is forgotten. */
    private void hello(int subtask, Messages.Hello hello) {
        int[][] known = hello.restoredFrom < 0 ? new int[2][ready.length] : lengths.get(hello.restoredFrom);
        if (known == null) {
            throw new IllegalStateException(
                    "Reader " + subtask + " was restored from checkpoint " + hello.restoredFrom + ", which is unknown");
        }
        int[] forgotten = books.sent[subtask].rollBack(known[0][subtask]);
        int[] forgottenReports = new int[0];
        if (books.reports[subtask].size() > known[1][subtask]) {
            forgottenReports = books.reports[subtask].rollBack(known[1][subtask]);
        }
        told[subtask] = books.sent[subtask].contains(Ledger.NO_MORE);
        pending[subtask] = hello.pending;
        ready[subtask] = true;
        Lines.restored(subtask, hello.restoredFrom, forgotten, forgottenReports.length);
    }

    @Override
    public void addSplitsBack(List<UnitSplit> splits, int subtask) {
        ready[subtask] = false;
        int[] units = splits.stream().mapToInt(split -> split.unit).toArray();
        books.giveBack(units);
        Lines.returned(subtask, units);
    }

    @Override
    public void addReader(int subtask) {
        // Its hello follows, and says from which checkpoint it was restored.
    }

    @Override
    public EnumeratorState snapshotState(long checkpoint) {
        IntStream.range(0, ready.length).forEach(subtask -> sendSome(subtask, settings.inSnapshot));
        EnumeratorState state = books.state(checkpoint);
        lengths.put(checkpoint, books.lengths());
        while (lengths.size() > MOST_REMEMBERED) {
            lengths.pollFirstEntry();
        }
        Cuts.enumerator(state);
        Faults.enumeratorCut(checkpoint);
        if (settings.afterSnapshot > 0) {
            context.runInCoordinatorThread(
                    () ->
                            IntStream.range(0, ready.length)
                                    .forEach(subtask -> sendSome(subtask, settings.afterSnapshot)));
        }
        return state;
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
        Faults.completed();
    }

    @Override
    public void close() {
        Arrays.fill(ready, false);
    }
}
