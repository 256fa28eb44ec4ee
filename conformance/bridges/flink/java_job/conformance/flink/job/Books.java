package conformance.flink.job;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/** The books of the enumerator. */
final class Books {

    final Ledger[] sent;
    final Ledger[] reports;
    int notices;
    private int next;
    private final Deque<Integer> pool = new ArrayDeque<>();

    Books(int parallelism) {
        sent = new Ledger[parallelism];
        reports = new Ledger[parallelism];
        Arrays.setAll(sent, subtask -> new Ledger());
        Arrays.setAll(reports, subtask -> new Ledger());
        Cuts.created = next;
    }

    Books(EnumeratorState state) {
        sent = copies(state.sent);
        reports = copies(state.reports);
        notices = state.notices;
        next = state.next;
        giveBack(state.pool.copy());
        Cuts.created = next;
    }

    int next() {
        return next;
    }

    /** A unit that was given back, else a new one if that is wanted; {@link Ledger#NO_MORE} if there is none. */
    int takeUnit(boolean mayBeNew) {
        if (!pool.isEmpty()) {
            return pool.remove();
        }
        if (!mayBeNew) {
            return Ledger.NO_MORE;
        }
        Cuts.created = next + 1;
        return next++;
    }

    void giveBack(int[] units) {
        for (int unit : units) {
            pool.add(unit);
        }
    }

    int[][] lengths() {
        return new int[][] {lengths(sent), lengths(reports)};
    }

    private static int[] lengths(Ledger[] ledgers) {
        return Arrays.stream(ledgers).mapToInt(Ledger::size).toArray();
    }

    EnumeratorState state(long checkpoint) {
        Ledger left = new Ledger();
        pool.forEach(left::add);
        return new EnumeratorState(checkpoint, next, copies(sent), copies(reports), left, notices);
    }

    private static Ledger[] copies(Ledger[] ledgers) {
        return Arrays.stream(ledgers).map(ledger -> new Ledger(ledger.copy())).toArray(Ledger[]::new);
    }
}
