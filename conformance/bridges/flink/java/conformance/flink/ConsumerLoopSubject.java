package conformance.flink;

import java.io.IOException;
import java.util.Optional;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.io.PullingAsyncDataInput.EndOfDataStatus;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.EndOfPartitionEvent;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.DelayableTimer;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointedInputGate;
import org.apache.flink.streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxExecutorImpl;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailbox;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/**
 * Flink's {@link CheckpointedInputGate} over a real gate with remote channels, with the real barrier handler and mailbox.
 * The default action and the choice of the next mail are the scenario's.
 */
final class ConsumerLoopSubject implements Subject {

    private static final String NAME = "task";
    /** The initial credit of a producer. */
    private static final int CREDIT = 4;

    private final Signals signals = new Signals();
    private final ManualTimers timers = new ManualTimers();
    private final RecordingTask task = new RecordingTask(signals);
    private final TaskMailbox mailbox = new TaskMailboxImpl(Thread.currentThread());
    private final GateFixture fixture;
    private final CheckpointedInputGate input;
    private final long timeout;
    private boolean isOver;

    ConsumerLoopSubject(JsonNode config) throws BadRequest, IOException {
        int channels = (int) Json.number(Json.field(config, "channels"));
        boolean alternating = config.path("alternating").asBoolean(true);
        boolean countsEnds = config.path("counts_ends").asBoolean(true);
        timeout = Json.number(Json.field(config, "timeout"));
        fixture = new GateFixture(0, 0, signals, new Faults(signals), gate(channels), watcher(), false);
        fixture.requestPartitions();
        MailboxExecutor executor =
                new MailboxExecutorImpl(mailbox, TaskMailbox.MIN_PRIORITY, StreamTaskActionExecutor.IMMEDIATE);
        // As BarrierAlignmentUtil.createRegisterTimerCallback: a timer that is due puts its action into the mailbox.
        DelayableTimer registering =
                (action, delay) ->
                        timers.registerTask(
                                () -> {
                                    executor.execute(action::call, "a timer of the barrier handler");
                                    return null;
                                },
                                delay);
        RecordingGate inputs = new RecordingGate(fixture.gate, signals);
        SingleCheckpointBarrierHandler handler =
                alternating
                        ? SingleCheckpointBarrierHandler.alternating(
                                NAME, task, task, timers.clock, channels, registering, countsEnds, inputs)
                        : SingleCheckpointBarrierHandler.aligned(
                                NAME, task, timers.clock, channels, registering, countsEnds, inputs);
        task.asks(handler::getAllBarriersReceivedFuture);
        input = new CheckpointedInputGate(fixture.gate, handler, executor);
    }

    private static ObjectNode gate(int channels) {
        ArrayNode kinds = Json.array();
        for (int channel = 0; channel < channels; channel++) {
            kinds.add("remote");
        }
        ObjectNode config = Json.object().put("recovery", "none");
        config.put("exclusive_buffers", CREDIT).put("floating_buffers", 0);
        config.set("channels", kinds);
        return config;
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "arrive":
                arrive(arguments.index(0), arguments.node(1), arguments.number(2));
                return null;
            case "advance":
                timers.advance(arguments.number(0));
                return null;
            case "run_mail":
                Optional<Mail> mail = mailbox.tryTake(TaskMailbox.MIN_PRIORITY);
                if (mail.isPresent()) {
                    mail.get().run();
                }
                return mail.isPresent();
            case "process":
                return process();
            case "idle":
                return !mailbox.hasMail() && (isOver || !input.getAvailableFuture().isDone());
            case "persisted":
                return fixture.persisted(arguments.number(0));
            case "fault":
                return false; // what this loop calls cannot fail
            case "resources":
                return Json.object()
                        .put("segments", fixture.segments())
                        .put("listeners", fixture.listeners() + timers.count())
                        .put("futures", fixture.futures() + task.openFutures());
            case "release":
                mailbox.close();
                input.close();
                fixture.release();
                return null;
            default:
                throw new BadRequest("a consumer loop has no method \"" + method + "\"");
        }
    }

    /** The port has no signal of the credit that a channel gives. */
    @Override
    public ArrayNode takeSignals() {
        ArrayNode told = signals.take();
        if (told == null) {
            return null;
        }
        ArrayNode wanted = Json.array();
        for (JsonNode one : told) {
            if (!one.path("type").asText().equals("credit-announced")) {
                wanted.add(one);
            }
        }
        return wanted;
    }

    private void arrive(int channel, JsonNode element, long timestamp) throws BadRequest, IOException {
        if (Json.text(Json.field(element, "type")).equals("barrier")) {
            fixture.arrive(channel, Events.barrier(element, timestamp, timeout));
        } else {
            fixture.arrive(channel, element, Network.UNKNOWN_BACKLOG);
        }
    }

    private ConsumerAccess.Watcher watcher() {
        return new ConsumerAccess.Watcher() {
            @Override
            public void taken(BufferOrEvent element) {
                tellOf(element);
            }
        };
    }

    /** The element as it was sent: the options of a barrier stay as they were, also if it overtakes. */
    private void tellOf(BufferOrEvent taken) {
        ObjectNode signal = Json.tagged("element-taken").put("channel", taken.getChannelInfo().getInputChannelIdx());
        signal.set(
                "element", taken.isBuffer() ? Elements.decode(taken) : Events.describe(taken.getEvent(), false));
        signals.add(signal);
    }

    /** Returns what {@code AbstractStreamTaskNetworkInput.emitNext} does. */
    private String process() throws Exception {
        Optional<BufferOrEvent> next = input.pollNext();
        if (next.isEmpty()) {
            isOver = input.isFinished();
            return isOver ? "end-of-input" : "nothing-available";
        }
        if (next.get().isBuffer()) {
            next.get().getBuffer().recycleBuffer();
            return "more-available";
        }
        Class<?> event = next.get().getEvent().getClass();
        if (event == EndOfData.class && input.hasReceivedEndOfData() != EndOfDataStatus.NOT_END_OF_DATA) {
            return "end-of-data";
        }
        if (event == EndOfPartitionEvent.class && input.isFinished()) {
            isOver = true;
            return "end-of-input";
        }
        return "more-available";
    }
}
