package conformance.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.consumer.PersisterAccess;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** Flink's {@code ChannelStatePersister}. */
final class PersisterSubject implements Subject {

    private final Segments segments = new Segments();
    private final RecordingStateWriter writer = new RecordingStateWriter();
    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final PersisterAccess persister = new PersisterAccess(writer);

    PersisterSubject() {
        writer.failInputs(() -> faults.strike(RecordingStateWriter.PLACE) != null);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "start":
                start(arguments.number(0), buffers(Json.ids(arguments.node(1))));
                return null;
            case "stop":
                persister.stop(arguments.number(0));
                return null;
            case "maybe_persist":
                Buffer arrived = buffer(arguments.node(0));
                try {
                    persister.maybePersist(arrived);
                } finally {
                    arrived.recycleBuffer(); // the consumer's own reference
                }
                return null;
            case "barrier":
                Buffer event = buffer(arguments.node(0));
                OptionalLong barrier = persister.checkForBarrier(event);
                event.recycleBuffer();
                return barrier.isPresent() ? barrier.getAsLong() : null;
            case "barrier_received":
                return persister.hasBarrierReceived();
            case "persisted":
                return Json.array(writer.persistedInput(arguments.number(0), new InputChannelInfo(0, 0)));
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "resources":
                return Json.object().put("segments", segments.taken()).put("futures", writer.openFutures());
            case "release":
                return null;
            default:
                throw new BadRequest("a persister has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    private boolean fault(String place, String kind, long nth) {
        if (!place.equals(RecordingStateWriter.PLACE) || !kind.equals("throws")) {
            return false;
        }
        faults.arm(place, kind, nth);
        return true;
    }

    /** If the persister refuses, the caller must recycle the buffers. */
    private void start(long checkpoint, List<Buffer> known) throws CheckpointException {
        try {
            persister.start(checkpoint, known);
        } catch (CheckpointException refused) {
            known.forEach(Buffer::recycleBuffer);
            throw refused;
        }
    }

    private Buffer buffer(JsonNode element) throws BadRequest, IOException {
        return Events.isData(element)
                ? segments.buffer(Json.ids(Json.field(element, "ids")))
                : Events.encodeBuffer(element);
    }

    /** One buffer for each record. The writer recycles them. */
    private List<Buffer> buffers(int[] ids) {
        List<Buffer> buffers = new ArrayList<>();
        for (int id : ids) {
            buffers.add(segments.buffer(id));
        }
        return buffers;
    }
}
