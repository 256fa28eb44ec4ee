package conformance.flink.job;

import org.apache.flink.api.connector.source.SourceSplit;

/** A unit of work. A reader can keep nothing but splits in its state, so what it keeps is a split too. */
final class UnitSplit implements SourceSplit {

    final int unit;
    /** Null, unless this is what a reader keeps; then there is no unit. */
    final ReaderState state;

    UnitSplit(int unit) {
        this.unit = unit;
        this.state = null;
    }

    UnitSplit(ReaderState state) {
        this.unit = -1;
        this.state = state;
    }

    @Override
    public String splitId() {
        return state == null ? "unit-" + unit : "reader-" + state.subtask;
    }

    @Override
    public String toString() {
        return splitId();
    }
}
