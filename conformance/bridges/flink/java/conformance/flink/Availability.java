package conformance.flink;

import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;

/** Whoever reads a gate, and sleeps on its futures while there is nothing to be read. */
final class Availability {

    private final InputGate gate;
    private final Signals signals;
    private CompletableFuture<?> data;
    private CompletableFuture<?> priority;

    Availability(InputGate gate, Signals signals) {
        this.gate = gate;
        this.signals = signals;
    }

    /** Sleep on the futures that are there now. */
    void watch() {
        CompletableFuture<?> now = gate.getAvailableFuture();
        if (now != data) {
            data = now;
            if (!now.isDone()) {
                now.thenRun(signals::dataAvailable);
            }
        }
        now = gate.getPriorityEventAvailableFuture();
        if (now != priority) {
            priority = now;
            if (!now.isDone()) {
                now.thenRun(() -> signals.priorityAvailable(-1));
            }
        }
    }

    /** After a poll that said that there is no more: a reader looks at the future before it sleeps. */
    void lookForData() {
        if (gate.getAvailableFuture().isDone()) {
            signals.dataAvailable();
        }
    }

    /** After a poll that said that there is no more priority event, in the same way. */
    void lookForPriority() {
        if (gate.getPriorityEventAvailableFuture().isDone()) {
            signals.priorityAvailable(-1);
        }
    }
}
