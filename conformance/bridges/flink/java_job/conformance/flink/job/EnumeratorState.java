package conformance.flink.job;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** All that the enumerator keeps, as it is in one checkpoint. */
final class EnumeratorState {

    final long checkpoint;
    /** The number of the next new unit. */
    final int next;
    /** For each subtask. */
    final Ledger[] sent;
    /** The reports that came from each subtask. */
    final Ledger[] reports;
    /** Units that were given back and are not assigned again yet. */
    final Ledger pool;
    final int notices;

    EnumeratorState(long checkpoint, int next, Ledger[] sent, Ledger[] reports, Ledger pool, int notices) {
        this.checkpoint = checkpoint;
        this.next = next;
        this.sent = sent;
        this.reports = reports;
        this.pool = pool;
        this.notices = notices;
    }

    void write(DataOutput out) throws IOException {
        out.writeLong(checkpoint);
        out.writeInt(next);
        write(sent, out);
        write(reports, out);
        pool.write(out);
        out.writeInt(notices);
    }

    static EnumeratorState read(DataInput in) throws IOException {
        return new EnumeratorState(
                in.readLong(), in.readInt(), readAll(in), readAll(in), Ledger.read(in), in.readInt());
    }

    private static void write(Ledger[] ledgers, DataOutput out) throws IOException {
        out.writeInt(ledgers.length);
        for (Ledger ledger : ledgers) {
            ledger.write(out);
        }
    }

    private static Ledger[] readAll(DataInput in) throws IOException {
        Ledger[] ledgers = new Ledger[in.readInt()];
        for (int subtask = 0; subtask < ledgers.length; subtask++) {
            ledgers[subtask] = Ledger.read(in);
        }
        return ledgers;
    }
}
