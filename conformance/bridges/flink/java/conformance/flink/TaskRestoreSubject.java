package conformance.flink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.checkpoint.channel.AwaitedExecutors;
import org.apache.flink.runtime.checkpoint.channel.RecoveredState;
import org.apache.flink.runtime.checkpoint.channel.SegmentReader;
import org.apache.flink.runtime.checkpoint.channel.SequentialChannelStateReader;
import org.apache.flink.runtime.io.network.api.EndOfPartitionEvent;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.partition.RecoveredPartition;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.IndexedInputGate;
import org.apache.flink.runtime.state.ChannelStateHelper;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.runtime.tasks.SteppedTask;

/**
 * Flink's {@code StreamTask} while it restores, with real gates of local channels, the real reader of channel state and
 * the real channel state writer. Recovered data has as many buffers as it needs, and a task manager always has a directory
 * to spill into, whatever the configuration says.
 */
final class TaskRestoreSubject implements Subject {

    private static final String STATE_READ = "channel-state-read";
    private static final int BUFFERS = 8; // of each channel: more than records are recovered

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final Segments output = new Segments();
    private final List<Integer> restoredOutput = new ArrayList<>();
    private final List<GateFixture> gates = new ArrayList<>();
    private final List<int[]> places = new ArrayList<>(); // gate and channel in it, by channel of the port
    private final AwaitedExecutors executors = new AwaitedExecutors(TaskEnvironment.JOB);
    private final CheckpointOptions options;
    private final DeployedTask task;
    private boolean hasFailedToRead;

    TaskRestoreSubject(JsonNode config) throws BadRequest, IOException {
        boolean isInMemory = Recovery.isInMemory(config);
        Recovery.check(config);
        JsonNode sizes = Json.field(config, "gates");
        List<List<List<byte[]>>> input = new ArrayList<>();
        for (int gate = 0; gate < sizes.size(); gate++) {
            input.add(new ArrayList<>());
            int first = places.size();
            for (int channel = 0; channel < sizes.get(gate).intValue(); channel++) {
                input.get(gate).add(records(Json.field(config, "input_state").get(places.size())));
                places.add(new int[] {gate, channel});
            }
            gates.add(new GateFixture(gate, first, signals, faults, gate(sizes.get(gate)), watcher(gate, first), true));
        }
        RecoveredState state = new RecoveredState();
        state.addInput(input, reading(true));
        state.addOutput(records(Json.field(config, "output_state")), reading(false));
        SequentialChannelStateReader reader = state.reader(SteppedTask.OPERATOR);

        boolean isUnaligned = Json.field(config, "unaligned").booleanValue();
        Configuration job = new Configuration();
        job.setString("execution.checkpointing.interval", "1 h");
        job.setString("execution.checkpointing.unaligned.enabled", String.valueOf(isUnaligned));
        job.setString(
                "execution.checkpointing.unaligned.recover-output-on-downstream.enabled",
                Json.field(config, "output_on_downstream").asText());
        job.setString(
                "execution.checkpointing.during-recovery.enabled",
                String.valueOf(isInMemory && Json.field(config, "during_recovery").booleanValue()));
        CheckpointStorageLocationReference location = CheckpointStorageLocationReference.getDefault();
        options =
                isUnaligned
                        ? CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, location)
                        : CheckpointOptions.alignedNoTimeout(CheckpointType.CHECKPOINT, location);

        IndexedInputGate[] all = gates.stream().map(one -> one.gate).toArray(IndexedInputGate[]::new);
        ResultPartitionWriter partition = RecoveredPartition.of(output::take, this::restored, this::outputRestored);
        task =
                new DeployedTask(
                        signals,
                        faults,
                        deployed -> TaskEnvironment.of(deployed, job, all, partition, reader, executors),
                        this::closeGates);
    }

    private static List<byte[]> records(JsonNode ids) throws BadRequest {
        List<byte[]> buffers = new ArrayList<>();
        for (int id : Json.ids(ids)) {
            buffers.add(ByteBuffer.allocate(Integer.BYTES).putInt(id).array());
        }
        return buffers;
    }

    /** A gate of local channels that recover. Which design it recovers in is the task's business. */
    private static ObjectNode gate(JsonNode size) {
        ArrayNode kinds = Json.array();
        for (int channel = 0; channel < size.intValue(); channel++) {
            kinds.add("local");
        }
        ObjectNode config = Json.object().put("recovery", "recover-first");
        config.put("exclusive_buffers", BUFFERS).put("floating_buffers", BUFFERS);
        config.set("channels", kinds);
        return config;
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        try {
            return perform(method, arguments);
        } finally {
            executors.await();
        }
    }

    private Object perform(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "restore":
                task.restore();
                return null;
            case "turn":
                return task.turn();
            case "select":
                task.select(arguments.index(0));
                return null;
            case "checkpoint":
                task.checkpoint(arguments.number(0), options);
                return null;
            case "read":
                return task.read();
            case "arrive":
                int[] place = places.get(arguments.index(0));
                gates.get(place[0]).arrive(place[1], arguments.node(1), Network.UNKNOWN_BACKLOG);
                return null;
            case "cancel":
                task.cancel();
                return null;
            case "persisted":
                return persisted(task.acknowledged(arguments.number(0)));
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "resources":
                return resources();
            case "release":
                release();
                return null;
            default:
                throw new BadRequest("the restore of a task has no method \"" + method + "\"");
        }
    }

    @Override
    public void dropped() throws Exception {
        release();
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    private boolean fault(String place, String kind, long nth) {
        if (!kind.equals("throws") || !(place.equals(STATE_READ) || place.equals(DeployedTask.OPERATORS_OPEN))) {
            return false;
        }
        faults.arm(place, kind, nth);
        return true;
    }

    private void release() throws Exception {
        task.cancel();
        for (GateFixture gate : gates) {
            gate.release();
        }
    }

    private ObjectNode resources() {
        int segments = output.taken();
        int listeners = 0;
        int futures = 0;
        for (GateFixture gate : gates) {
            segments += gate.segments();
            listeners += gate.listeners();
            futures += gate.futures();
        }
        return Json.object().put("segments", segments).put("listeners", listeners).put("futures", futures);
    }

    private void closeGates() {
        try {
            for (GateFixture gate : gates) {
                gate.gate.close();
            }
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }

    // ---- what the task does

    private ConsumerAccess.Watcher watcher(int gate, int first) {
        return new ConsumerAccess.Watcher() {
            @Override
            public void taken(BufferOrEvent element) {
                if (element.isBuffer() || element.getEvent() instanceof EndOfPartitionEvent) {
                    ObjectNode signal = Json.tagged("element-taken");
                    signal.put("channel", first + element.getChannelInfo().getInputChannelIdx());
                    signal.set("element", Elements.decode(element));
                    signals.add(signal);
                }
            }

            @Override
            public void endsRecovery() throws IOException {
                if (!hasFailedToRead) { // Flink ends the recovery then, too, and fails the task after that
                    pause();
                }
            }

            @Override
            public void converted() {
                signals.add(Json.tagged("gate-converted").put("gate", gate));
            }
        };
    }

    /** Input state is read by the executor of channel state, output state by the task itself. */
    private RecoveredState.Reading reading(boolean byExecutor) {
        return new RecoveredState.Reading() {
            @Override
            public void begins() throws IOException {
                if (byExecutor) {
                    pause();
                }
            }

            @Override
            public void fills() throws IOException {
                if (faults.strike(STATE_READ) != null) {
                    hasFailedToRead = true;
                    throw Faults.failure(STATE_READ);
                }
            }
        };
    }

    /** The executor of channel state waits until it is asked to go on. */
    private static void pause() throws IOException {
        try {
            TurnThread.pause();
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
    }

    private void restored(BufferConsumer added) {
        Buffer buffer = added.build();
        if (buffer.isBuffer()) {
            restoredOutput.addAll(Segments.read(buffer));
        }
        buffer.recycleBuffer();
        added.close();
    }

    private void outputRestored() {
        signals.add(
                (ObjectNode) Json.tagged("output-state-restored").set("records", Json.array(restoredOutput)));
    }

    // ---- what it has stored

    private ArrayNode persisted(TaskStateSnapshot snapshot) throws IOException {
        List<List<Integer>> channels = new ArrayList<>();
        places.forEach(ignored -> channels.add(new ArrayList<>()));
        if (snapshot != null) {
            for (Map.Entry<?, OperatorSubtaskState> one : snapshot.getSubtaskStateMappings()) {
                for (InputChannelStateHandle handle : ChannelStateHelper.extractUnmergedInputHandles(one.getValue())) {
                    int number = number(handle.getInfo().getGateIdx(), handle.getInfo().getInputChannelIdx());
                    read(handle, channels.get(number));
                }
            }
        }
        ArrayNode all = Json.array();
        channels.forEach(ids -> all.add(Json.array(ids)));
        return all;
    }

    private static void read(InputChannelStateHandle handle, List<Integer> ids) throws IOException {
        try (SegmentReader reader = new SegmentReader(handle.getDelegate(), handle.getDelegate().getStateSize())) {
            for (long offset : handle.getOffsets()) {
                ByteArrayOutputStream content = new ByteArrayOutputStream();
                reader.read(offset, content);
                for (ByteBuffer left = ByteBuffer.wrap(content.toByteArray()); left.hasRemaining(); ) {
                    ids.add(left.getInt());
                }
            }
        }
    }

    private int number(int gate, int channel) {
        for (int number = 0; number < places.size(); number++) {
            if (places.get(number)[0] == gate && places.get(number)[1] == channel) {
                return number;
            }
        }
        throw new Segments.Garbled("there is no channel " + channel + " in gate " + gate);
    }
}
