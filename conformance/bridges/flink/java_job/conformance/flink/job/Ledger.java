package conformance.flink.job;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * What one side sent or received, in order. A number of 0 or more is a unit; {@link #NO_MORE} says that no split will
 * follow; the numbers below are notices, which are events that the enumerator sends to a reader.
 */
final class Ledger {

    static final int NO_MORE = -1;
    private static final int FIRST_NOTICE = -2;

    private int[] entries;
    private int size;

    Ledger(int... entries) {
        this.entries = entries;
        this.size = entries.length;
    }

    static int notice(int number) {
        return FIRST_NOTICE - number;
    }

    void add(int entry) {
        if (size == entries.length) {
            entries = Arrays.copyOf(entries, Math.max(16, 2 * size));
        }
        entries[size++] = entry;
    }

    int size() {
        return size;
    }

    boolean contains(int entry) {
        for (int index = 0; index < size; index++) {
            if (entries[index] == entry) {
                return true;
            }
        }
        return false;
    }

    /** Forgets everything after the first so many entries, and returns it. */
    int[] rollBack(int length) {
        int[] forgotten = Arrays.copyOfRange(entries, length, size);
        size = length;
        return forgotten;
    }

    int[] copy() {
        return Arrays.copyOf(entries, size);
    }

    void write(DataOutput out) throws IOException {
        out.writeInt(size);
        for (int index = 0; index < size; index++) {
            out.writeInt(entries[index]);
        }
    }

    static Ledger read(DataInput in) throws IOException {
        int[] entries = new int[in.readInt()];
        for (int index = 0; index < entries.length; index++) {
            entries[index] = in.readInt();
        }
        return new Ledger(entries);
    }
}
