package conformance.flink;

import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;

/** Watches the availability futures of a gate, as its reader does, and signals when they complete. */
final class Availability {

    private final InputGate gate;
    private final Signals signals;
    private CompletableFuture<?> data;
    private CompletableFuture<?> priority;

    Availability(InputGate gate, Signals signals) {
        this.gate = gate;
        this.signals = signals;
    }

    /** Watches the current futures. A signal is emitted when one of them completes. */
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

    /** Called after a poll that has no more elements: a reader then looks at the future before it waits for it. */
    void lookForData() {
        if (gate.getAvailableFuture().isDone()) {
            signals.dataAvailable();
        }
    }

    /** Called after a poll that has no more priority events, for the same reason. */
    void lookForPriority() {
        if (gate.getPriorityEventAvailableFuture().isDone()) {
            signals.priorityAvailable(-1);
        }
    }
}
