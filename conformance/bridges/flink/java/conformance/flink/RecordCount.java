package conformance.flink;

import java.io.OutputStream;

/**
 * Counts the records that begin in the data of an input channel, as it is read: each has its length in front, in four bytes.
 * The last one may go on in the output state of the producer. A record has at least one byte.
 */
final class RecordCount extends OutputStream {

    private long at;
    private long left;
    private int length;
    private int known;
    private int records;
    private String wrong;

    @Override
    public void write(int next) {
        write(new byte[] {(byte) next}, 0, 1);
    }

    @Override
    public void write(byte[] data, int begin, int size) {
        for (int next = begin; next < begin + size && wrong == null; ) {
            if (left > 0) {
                int skipped = (int) Math.min(left, begin + size - next);
                left -= skipped;
                next += skipped;
                continue;
            }
            length = length << Byte.SIZE | data[next++] & 0xFF;
            if (++known == Integer.BYTES) {
                end();
            }
        }
    }

    /** The length in front of a record is known. */
    private void end() {
        if (length < 1) {
            wrong = "the record at byte " + at + " of its data must have a length above 0, it has " + length;
        } else {
            records++;
            left = length;
            at += Integer.BYTES + left;
        }
        length = 0;
        known = 0;
    }

    int records() {
        return records;
    }

    /** What is wrong with the first record of which something is; null: nothing. */
    String wrong() {
        return wrong;
    }
}
