package conformance.flink.job;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** What was put into checkpoints, until it is known how they ended, and what came out of the job at its end. */
final class Cuts {

    /** How many different units the enumerator has made, as far as it knows. */
    static volatile int created;

    private static final Map<Long, EnumeratorState> ENUMERATOR = new HashMap<>();
    private static final Map<Long, Map<Integer, ReaderState>> READERS = new HashMap<>();
    private static final Map<Integer, ReaderState> FINISHED = new HashMap<>();
    private static final Map<Long, Map<Integer, ReaderState>> FINISHED_BEFORE = new HashMap<>();
    private static final Map<Integer, int[]> RESULTS = new TreeMap<>();

    private Cuts() {}

    static synchronized void enumerator(EnumeratorState state) {
        ENUMERATOR.put(state.checkpoint, state);
        // A reader whose task has finished before a checkpoint has finished before the enumerator's cut. It may start
        // again after a failure, so what is known of it later is not what belongs to this checkpoint.
        FINISHED_BEFORE.put(state.checkpoint, new HashMap<>(FINISHED));
    }

    static synchronized void reader(ReaderState state) {
        READERS.computeIfAbsent(state.checkpoint, id -> new HashMap<>()).put(state.subtask, state);
    }

    static synchronized void started(int subtask) {
        FINISHED.remove(subtask);
    }

    static synchronized void finished(ReaderState state) {
        FINISHED.put(state.subtask, state);
    }

    static synchronized void result(int subtask, int[] units) {
        RESULTS.put(subtask, units);
    }

    /** What came out of the job, for each subtask of its last operator. */
    static synchronized Map<Integer, int[]> results() {
        return new TreeMap<>(RESULTS);
    }

    static synchronized EnumeratorState enumerator(long checkpoint) {
        return ENUMERATOR.get(checkpoint);
    }

    /** Null if the reader took no snapshot. */
    static synchronized ReaderState reader(long checkpoint, int subtask) {
        return READERS.getOrDefault(checkpoint, Map.of()).get(subtask);
    }

    /** As the reader was when it finished; null if it had not finished before this checkpoint. */
    static synchronized ReaderState finished(long checkpoint, int subtask) {
        return FINISHED_BEFORE.getOrDefault(checkpoint, Map.of()).get(subtask);
    }

    static synchronized void forget(long checkpoint) {
        ENUMERATOR.remove(checkpoint);
        READERS.remove(checkpoint);
        FINISHED_BEFORE.remove(checkpoint);
    }
}
