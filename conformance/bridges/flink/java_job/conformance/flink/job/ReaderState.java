package conformance.flink.job;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** All that a reader keeps, as it is in one checkpoint. */
final class ReaderState {

    final int subtask;
    final long checkpoint;
    final Ledger received;
    final Ledger reported;
    final Ledger pending;

    ReaderState(int subtask, long checkpoint, Ledger received, Ledger reported, Ledger pending) {
        this.subtask = subtask;
        this.checkpoint = checkpoint;
        this.received = received;
        this.reported = reported;
        this.pending = pending;
    }

    void write(DataOutput out) throws IOException {
        out.writeInt(subtask);
        out.writeLong(checkpoint);
        received.write(out);
        reported.write(out);
        pending.write(out);
    }

    static ReaderState read(DataInput in) throws IOException {
        return new ReaderState(in.readInt(), in.readLong(), Ledger.read(in), Ledger.read(in), Ledger.read(in));
    }
}
