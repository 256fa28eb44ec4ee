package conformance.flink.job;

/** Makes the planned failures happen, one after the other, and knows when the run draws to its end. */
final class Faults {

    private static final long NONE = -1;

    private static int done; // so many of the planned failures have happened
    private static int completed; // checkpoints that completed
    private static int completedBefore; // when the last failure happened
    private static long trap = NONE; // the checkpoint during which the next reader fails
    private static volatile boolean closing;

    private Faults() {}

    /** No new units from now on, and no failures. */
    static void close() {
        closing = true;
    }

    /** Whether this subtask gets new units. */
    static synchronized boolean newUnits(int subtask) {
        Settings settings = Settings.current;
        return !closing && !(settings.finishEarly.contains(subtask) && completed >= settings.finishAfter);
    }

    static synchronized void completed() {
        completed++;
    }

    /** The next failure if it is of this kind and its time has come, else null. */
    private static Settings.Fault due(String where) {
        if (closing || done >= Settings.current.faults.size()) {
            return null;
        }
        Settings.Fault next = Settings.current.faults.get(done);
        return next.where.equals(where) && completed - completedBefore >= next.after ? next : null;
    }

    private static void fail(Settings.Fault fault, long checkpoint) {
        done++;
        completedBefore = completed;
        trap = NONE;
        Lines.failure(fault.where, fault.subtask, checkpoint);
        throw new IllegalStateException("A planned failure: " + fault.where + " " + fault.subtask);
    }

    static synchronized void enumeratorActs() {
        Settings.Fault fault = due("enumerator");
        if (fault != null) {
            fail(fault, NONE);
        }
    }

    static synchronized void enumeratorCut(long checkpoint) {
        if (due("between-cuts") != null) {
            trap = checkpoint;
        }
    }

    static synchronized void readerPolls(int subtask, long lastSnapshot) {
        Settings.Fault fault = due("reader");
        if (fault != null && fault.subtask == subtask) {
            fail(fault, NONE);
        }
        fault = due("between-cuts");
        if (fault != null && fault.subtask == subtask && lastSnapshot < trap) {
            fail(fault, trap);
        }
    }

    static synchronized void readerSnapshots(int subtask, long checkpoint) {
        Settings.Fault fault = due("snapshot");
        if (fault != null && fault.subtask == subtask) {
            fail(fault, checkpoint);
        }
    }
}
