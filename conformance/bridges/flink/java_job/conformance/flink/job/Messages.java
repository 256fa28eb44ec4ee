package conformance.flink.job;

import org.apache.flink.api.connector.source.SourceEvent;

/** The source events of the job. */
final class Messages {

    private Messages() {}

    /** From a reader that has started: the checkpoint it was restored from, -1 for none, and how much it has to do. */
    static final class Hello implements SourceEvent {

        private static final long serialVersionUID = 1L;

        final long restoredFrom;
        final int pending;

        Hello(long restoredFrom, int pending) {
            this.restoredFrom = restoredFrom;
            this.pending = pending;
        }
    }

    /** From a reader: a unit is finished. */
    static final class Report implements SourceEvent {

        private static final long serialVersionUID = 1L;

        final int unit;

        Report(int unit) {
            this.unit = unit;
        }
    }

    /** From the enumerator to each reader that is registered, also if it has finished. */
    static final class Notice implements SourceEvent {

        private static final long serialVersionUID = 1L;

        final int number;

        Notice(int number) {
            this.number = number;
        }
    }
}
