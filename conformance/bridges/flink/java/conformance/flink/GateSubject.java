package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.streaming.runtime.io.checkpointing.UpstreamRecoveryTracker;

/** Flink's {@code SingleInputGate}. */
final class GateSubject implements Subject {

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final GateFixture fixture;
    private final Polling polling;
    private final UpstreamRecoveryTracker tracker;

    GateSubject(JsonNode config) throws BadRequest, IOException {
        fixture = new GateFixture(0, 0, signals, faults, GateFixture.alone(config, 0));
        polling = new Polling(fixture.gate, InputChannelInfo::getInputChannelIdx, signals);
        tracker = UpstreamRecoveryTracker.forInputGate(fixture.gate);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        try {
            return perform(method, arguments);
        } finally {
            polling.watch();
        }
    }

    private Object perform(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "recover":
                fixture.recover(arguments.index(0), arguments.node(1));
                return null;
            case "finish_recovery":
                fixture.finishRecovery(arguments.index(0));
                return null;
            case "convert":
                fixture.convert();
                return null;
            case "request_partitions":
                fixture.requestPartitions();
                return null;
            case "poll":
                return polling.poll();
            case "resume":
                fixture.gate.resumeConsumption(channel(arguments));
                return null;
            case "end_of_output_state":
                tracker.handleEndOfRecovery(channel(arguments));
                return null;
            case "checkpoint_started":
                fixture.gate.checkpointStarted(Events.barrier(arguments.node(0)));
                return null;
            case "checkpoint_stopped":
                fixture.gate.checkpointStopped(arguments.number(0));
                return null;
            case "convert_to_priority":
                fixture.gate.convertToPriorityEvent(arguments.index(0), arguments.index(1));
                return null;
            case "arrive":
                fixture.arrive(arguments.index(0), arguments.node(1), arguments.index(2));
                return null;
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "available":
                return fixture.gate.getAvailableFuture().isDone();
            case "in_use":
                return fixture.buffersInUse(arguments.index(0));
            case "finished":
                return fixture.gate.isFinished();
            case "persisted":
                return fixture.persisted(arguments.number(0));
            case "resources":
                return Json.object()
                        .put("segments", fixture.segments())
                        .put("listeners", fixture.listeners())
                        .put("futures", fixture.futures());
            case "release":
                fixture.release();
                return null;
            default:
                throw new BadRequest("this gate has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    /** Lets a call at this place throw; returns false if this subject cannot. */
    private boolean fault(String place, String kind, long nth) {
        if (!place.equals(RecordingStateWriter.PLACE)) {
            return faults.armSetup(place, kind, nth);
        }
        if (!kind.equals("throws") || nth > 1) {
            return false; // the recording writer lets the next call fail only
        }
        fixture.failNextInput(() -> signals.faultStruck(place, kind));
        return true;
    }

    private static InputChannelInfo channel(Arguments arguments) throws BadRequest {
        return new InputChannelInfo(0, arguments.index(0));
    }
}
