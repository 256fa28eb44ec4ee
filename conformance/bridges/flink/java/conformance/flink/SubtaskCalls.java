package conformance.flink;

/** What is called in the other parts of a task, as signals. */
final class SubtaskCalls {

    private final Signals signals;

    SubtaskCalls(Signals signals) {
        this.signals = signals;
    }

    void add(Object checkpoint, String call) {
        signals.add(Json.tagged("subtask-called").put("checkpoint", (Long) checkpoint).put("call", call));
    }
}
