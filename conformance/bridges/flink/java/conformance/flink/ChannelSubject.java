package conformance.flink;

import java.io.IOException;
import java.util.Optional;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** What the channels of all kinds share: each is in a gate that turns its notifications into signals. */
abstract class ChannelSubject implements Subject {

    final Signals signals = new Signals();
    final Faults faults = new Faults(signals);
    final Segments segments = new Segments();
    final RecordingStateWriter writer = new RecordingStateWriter();
    final Memory memory;
    final SingleInputGate gate;
    final int exclusiveBuffers;

    ChannelSubject(JsonNode config) throws BadRequest, IOException {
        if ((int) Json.number(Json.field(config, "first_number")) != 0) {
            throw new BadRequest("the channels of Flink begin with the sequence number 0");
        }
        exclusiveBuffers = (int) Json.number(Json.field(config, "exclusive_buffers"));
        memory = new Memory(1, exclusiveBuffers, (int) Json.number(Json.field(config, "floating_buffers")));
        gate =
                ConsumerAccess.listening(
                        memory.floating(),
                        new FaultySegments(memory.all(), faults),
                        new ConsumerAccess.Listener() {
                            @Override
                            public void nonEmpty(InputChannel channel) {
                                signals.dataAvailable();
                            }

                            @Override
                            public void priorityEvent(InputChannel channel, int sequenceNumber) {
                                signals.priorityAvailable(sequenceNumber);
                            }
                        });
        Recovery.prepare(gate, config);
    }

    abstract InputChannel channel();

    /** Performs an operation that only this kind of channel has. */
    abstract Object callMore(String method, Arguments arguments) throws Exception;

    abstract ObjectNode resources();

    @Override
    public final Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "take":
                return take();
            case "checkpoint_started":
                channel().checkpointStarted(Events.barrier(arguments.node(0)));
                return null;
            case "checkpoint_stopped":
                channel().checkpointStopped(arguments.number(0));
                return null;
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "in_use":
                return ConsumerAccess.buffersInUse(channel());
            case "persisted":
                return Json.array(writer.persistedInput(arguments.number(0), new InputChannelInfo(0, 0)));
            case "resources":
                return resources();
            default:
                return callMore(method, arguments);
        }
    }

    @Override
    public final ArrayNode takeSignals() {
        return signals.take();
    }

    /** Lets a call at this place fail; returns false if this subject cannot. */
    boolean fault(String place, String kind, long nth) throws Exception {
        if (!place.equals(RecordingStateWriter.PLACE) || !kind.equals("throws") || nth > 1) {
            return false; // the recording writer lets the next call fail only
        }
        writer.failNextInput(() -> signals.faultStruck(place, kind));
        return true;
    }

    ObjectNode take() throws IOException, InterruptedException {
        while (true) {
            Optional<InputChannel.BufferAndAvailability> next = channel().getNextBuffer();
            if (next.isEmpty()) {
                return null;
            }
            InputChannel.BufferAndAvailability taken = next.get();
            if (!Elements.endsRecoveredState(taken.buffer())) {
                return answer(taken);
            }
            taken.buffer().recycleBuffer();
            if (!taken.moreAvailable()) {
                return null;
            }
        }
    }

    /** Returns the element and recycles its buffer at once. */
    ObjectNode answer(InputChannel.BufferAndAvailability taken) throws IOException {
        try {
            return Elements.taken(taken);
        } finally {
            taken.buffer().recycleBuffer();
        }
    }

    /** Fills a recovered channel with the records that are handed over, and converts it to the physical channel. */
    InputChannel converted(RecoveredInputChannel recovered, JsonNode handedOver) throws BadRequest, IOException {
        for (int id : Json.ids(handedOver)) {
            recovered.onRecoveredStateBuffer(segments.buffer(id));
        }
        recovered.finishReadRecoveredState();
        signals.take(); // those of the recovered channel; what the conversion signals belongs to the physical one
        return ConsumerAccess.convert(recovered);
    }
}
