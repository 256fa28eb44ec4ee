package conformance.flink;

import java.io.IOException;
import java.util.Optional;
import java.util.function.ToIntFunction;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Reads a gate, one element at a time. */
final class Polling {

    private final InputGate gate;
    private final ToIntFunction<InputChannelInfo> number;
    private final Availability availability;

    /** {@code number} gives the number that a channel has in the port. */
    Polling(InputGate gate, ToIntFunction<InputChannelInfo> number, Signals signals) {
        this.gate = gate;
        this.number = number;
        this.availability = new Availability(gate, signals);
        availability.watch();
    }

    /** The next element, or null if the gate has none. */
    ObjectNode poll() throws IOException, InterruptedException {
        while (true) {
            Optional<BufferOrEvent> next = gate.pollNext();
            if (next.isEmpty()) {
                if (!gate.isFinished()) { // a finished gate stays available, but its reader has finished
                    availability.lookForData();
                }
                return null;
            }
            BufferOrEvent polled = next.get();
            if (polled.isBuffer() || !Elements.endsRecoveredState(polled.getEvent())) {
                if (!polled.moreAvailable()) {
                    availability.lookForData();
                }
                if (polled.hasPriority() && !polled.morePriorityEvents()) {
                    availability.lookForPriority();
                }
                return answer(polled);
            }
        }
    }

    /** Must be called after every operation. */
    void watch() {
        availability.watch();
    }

    private ObjectNode answer(BufferOrEvent polled) {
        ObjectNode answer = Json.object().put("channel", number.applyAsInt(polled.getChannelInfo()));
        answer.set("element", Elements.decode(polled));
        answer.put("more", polled.moreAvailable()).put("more_priority", polled.morePriorityEvents());
        if (polled.isBuffer()) {
            polled.getBuffer().recycleBuffer();
        }
        return answer;
    }
}
