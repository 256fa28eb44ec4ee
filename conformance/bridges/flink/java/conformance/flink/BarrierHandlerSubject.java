package conformance.flink;

import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAccess;
import org.apache.flink.streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler;

/** Flink's {@link SingleCheckpointBarrierHandler}, in the two modes of {@code InputProcessorUtil} that block channels. */
final class BarrierHandlerSubject implements Subject {

    private static final String NAME = "task";

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final ManualTimers timers = new ManualTimers();
    private final RecordingTask task = new RecordingTask(signals);
    private final long timeout;
    private final SingleCheckpointBarrierHandler handler;

    BarrierHandlerSubject(JsonNode config) throws BadRequest {
        int channels = (int) Json.number(Json.field(config, "channels"));
        boolean alternating = config.path("alternating").asBoolean(true);
        boolean countsEnds = config.path("counts_ends").asBoolean(true);
        timeout = Json.number(Json.field(config, "timeout"));
        RecordingInput input = new RecordingInput(channels, signals, faults);
        handler =
                alternating
                        ? SingleCheckpointBarrierHandler.alternating(
                                NAME, task, task, timers.clock, channels, timers, countsEnds, input)
                        : SingleCheckpointBarrierHandler.aligned(
                                NAME, task, timers.clock, channels, timers, countsEnds, input);
        task.asks(handler::getAllBarriersReceivedFuture);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "barrier":
                handler.processBarrier(barrier(arguments), channel(arguments), false);
                return null;
            case "rpc_barrier":
                handler.processBarrier(barrier(arguments), channel(arguments), true);
                return null;
            case "announcement":
                CheckpointBarrier announced =
                        Events.timeoutable(arguments.number(1), arguments.number(3), timeout);
                handler.processBarrierAnnouncement(announced, arguments.index(2), channel(arguments));
                return null;
            case "cancel_marker":
                handler.processCancellationBarrier(
                        new CancelCheckpointMarker(arguments.number(1)), channel(arguments));
                return null;
            case "end_of_partition":
                handler.processEndOfPartition(channel(arguments));
                return null;
            case "advance":
                timers.advance(arguments.number(0));
                return null;
            case "pending":
                return BarrierAccess.isCheckpointPending(handler) ? handler.getLatestCheckpointId() : null;
            case "alignment_times":
                return Json.object()
                        .put("duration", TimeUnit.NANOSECONDS.toMillis(handler.getAlignmentDurationNanos()))
                        .put("start_delay", TimeUnit.NANOSECONDS.toMillis(handler.getCheckpointStartDelayNanos()));
            case "fault":
                faults.arm(arguments.text(0), arguments.text(1), arguments.number(2));
                return true;
            case "resources":
                return Json.object()
                        .put("segments", 0)
                        .put("listeners", timers.count())
                        .put("futures", task.openFutures());
            case "release":
                handler.close();
                return null;
            default:
                throw new BadRequest("a barrier handler has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    private CheckpointBarrier barrier(Arguments arguments) throws BadRequest {
        return Events.barrier(arguments.node(1), arguments.number(2), timeout);
    }

    private static InputChannelInfo channel(Arguments arguments) throws BadRequest {
        return new InputChannelInfo(0, arguments.index(0));
    }
}
