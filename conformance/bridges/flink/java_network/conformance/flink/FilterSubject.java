package conformance.flink;

import conformance.flink.rescaling.Partitioners;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.RescaleMappings;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.StateFetch;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.ConsumerAccess;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.WatchedChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.util.ConfigurationParserUtils;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.io.recovery.Demultiplexer;
import org.apache.flink.streaming.runtime.io.recovery.Demultiplexers;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink's reader of channel state, with its filter, into real gates of local channels; its demultiplexer; and the channels
 * that the recovered ones are converted to. With recover-first the channels have as many buffers as they ask for, so that
 * nothing waits: in memory Flink never waits itself.
 */
public final class FilterSubject implements Subject {

    /** Those of its configuration. */
    public static final String[] FIELDS = {
        "recovery", "gates", "state", "parallelism", "subtask", "max_parallelism", "rescaled", "page", "buffers",
        "partial_in_memory", "segment", "files"
    };

    private static final String STATE_READ = "channel-state-read";
    private static final String PARTITIONER = "partitioner";
    private static final String BUFFER_POOL = "buffer-pool";
    private static final String CHANNEL_PUSH = "channel-push";
    private static final Map<String, Set<String>> PLACES =
            Map.of(
                    STATE_READ, Set.of("throws", "short"),
                    PARTITIONER, Set.of("throws"),
                    ValueSerializer.READ, Set.of("throws"),
                    ValueSerializer.WRITE, Set.of("throws"),
                    BUFFER_POOL, Set.of("ends"),
                    CHANNEL_PUSH, Set.of("throws"));

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final RecordFiles files = new RecordFiles(faults);
    private final JsonNode config;
    private final boolean isInMemory;
    private final FilteringTask task;
    private final boolean isRescaled;
    private final List<Source> sources = new ArrayList<>();
    private final List<Target> targets = new ArrayList<>();
    private final List<SingleInputGate> gates = new ArrayList<>();
    private final List<PipelinedResultPartition> partitions = new ArrayList<>();
    private final List<Memory> memories = new ArrayList<>();
    private final Map<Integer, Buffer> held = new HashMap<>();
    private final Map<InputChannelInfo, ByteArrayOutputStream> persisted = new HashMap<>();
    private final ChannelStateWriter writer =
            Partial.of(ChannelStateWriter.class, Map.of("addInputData", this::persist));
    private int page;
    private StateFetch fetch;
    private boolean isConverted;
    /** What the task has failed with. */
    private Exception failed;
    private int nextBuffer;
    /** The size of the largest element. */
    private int largest;
    /** No later request for a buffer succeeds. */
    private boolean hasPoolFailed;
    /** Segments of recover-first that were given out and not given back. */
    private int roomy;

    public FilterSubject(JsonNode config) throws BadRequest {
        Recovery.check(config);
        if (Recovery.isNone(config)) {
            throw new BadRequest("a filter recovers");
        }
        this.config = config;
        isInMemory = Recovery.isInMemory(config);
        isRescaled = Json.field(config, "rescaled").booleanValue();
        int maxParallelism = (int) Json.number(Json.field(config, "max_parallelism"));
        List<FilteredInput> inputs = new ArrayList<>();
        List<InflightDataGateOrPartitionRescalingDescriptor> mappings = new ArrayList<>();
        for (JsonNode gate : Json.field(config, "gates")) {
            inputs.add(
                    new FilteredInput(
                            serializer(),
                            Partitioners.make(Json.text(Json.field(gate, "kind")), maxParallelism, this::key)));
            mappings.add(mapping(Json.field(gate, "mapping")));
        }
        InflightDataRescalingDescriptor descriptor =
                isRescaled
                        ? new InflightDataRescalingDescriptor(
                                mappings.toArray(new InflightDataGateOrPartitionRescalingDescriptor[0]))
                        : InflightDataRescalingDescriptor.NO_RESCALE;
        task =
                new FilteringTask(
                        descriptor,
                        inputs.toArray(new FilteredInput[0]),
                        (int) Json.number(Json.field(config, "parallelism")),
                        (int) Json.number(Json.field(config, "subtask")),
                        maxParallelism,
                        isInMemory,
                        files.folders());
        for (JsonNode virtual : Json.field(config, "state")) {
            sources.add(new Source(virtual));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // Flink's filter knows nothing of the type of the records
    private TypeSerializer<Object> serializer() {
        return (TypeSerializer) new ValueSerializer(faults);
    }

    private Object key(Object value) throws IOException {
        if (faults.strike(PARTITIONER) != null) {
            throw Faults.failure(PARTITIONER);
        }
        return (long) ((Framing.Value) value).key;
    }

    private static InflightDataGateOrPartitionRescalingDescriptor mapping(JsonNode mapping) throws BadRequest {
        int[] olds = Json.ids(Json.field(mapping, "old_subtasks"));
        if (olds.length == 0) {
            return InflightDataGateOrPartitionRescalingDescriptor.NO_STATE;
        }
        List<int[]> channels = new ArrayList<>();
        int count = 0;
        for (JsonNode channel : Json.field(mapping, "channels")) {
            channels.add(Json.ids(channel));
            for (int old : channels.get(channels.size() - 1)) {
                count = Math.max(count, old + 1);
            }
        }
        Set<Integer> ambiguous = new TreeSet<>();
        for (int old : Json.ids(Json.field(mapping, "ambiguous"))) {
            ambiguous.add(old);
        }
        return new InflightDataGateOrPartitionRescalingDescriptor(
                olds,
                RescaleMappings.of(channels.stream(), count),
                ambiguous,
                InflightDataGateOrPartitionRescalingDescriptor.MappingType.RESCALING);
    }

    // ---- the port

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "begin":
                begin();
                return null;
            case "read":
                read(sources.get(arguments.index(0)), arguments.index(1));
                return null;
            case "end":
                fetch.end();
                return null;
            case "take":
                return take(target(arguments));
            case "recycle":
                held.remove(arguments.index(0)).recycleBuffer();
                return null;
            case "checkpoint":
                return checkpoint(arguments.number(0));
            case "cancel":
                return null; // nothing waits
            case "before_filter":
                return null; // no release has a segment before the filter
            case "request_before_filter":
                throw new IllegalStateException("no release has a segment before the filter");
            case "partial":
                return Json.array(); // Flink does not say what it keeps
            case "drain":
                return false; // no release spills what was filtered
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "resources":
                return resources();
            case "release":
                release();
                return null;
            default:
                throw new BadRequest("a filter has no method \"" + method + "\"");
        }
    }

    private void begin() throws Exception {
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.segment-size", Json.field(config, "page").asText());
        page = ConfigurationParserUtils.getPageSize(settings);
        int buffers = (int) Json.number(Json.field(config, "buffers"));
        for (JsonNode gate : Json.field(config, "gates")) {
            openGate(gates.size(), Json.field(Json.field(gate, "mapping"), "channels").size(), buffers);
        }
        List<StateFetch.Virtual> virtuals = sources.stream().map(one -> one.virtual).collect(Collectors.toList());
        fetch = new StateFetch(virtuals, gates.toArray(new InputGate[0]), task, content);
    }

    private void openGate(int number, int channels, int buffers) throws IOException {
        int exclusive = Math.max(1, buffers / channels);
        Memory memory = new Memory(channels, exclusive, 0, page);
        memories.add(memory);
        ResultPartitionManager manager = new ResultPartitionManager();
        ResultPartitionID id = SubpartitionAccess.id(number);
        PipelinedResultPartition partition =
                SubpartitionAccess.partition(id, channels, exclusive, manager, new RecordingStateWriter());
        partitions.add(partition);
        manager.registerResultPartition(partition);
        SingleInputGate gate =
                ConsumerAccess.gate(
                        number, channels, memory.floating(), memory.all(), new ConsumerAccess.Watcher() {});
        if (isInMemory) {
            ConsumerAccess.enableCheckpointingDuringRecovery(gate);
        }
        InputChannel[] made = new InputChannel[channels];
        for (int channel = 0; channel < channels; channel++) {
            RecoveredInputChannel recovered =
                    new WatchedChannel(gate, channel, id, manager, isInMemory ? exclusive : 0, calls);
            recovered.setChannelStateWriter(writer);
            made[channel] = recovered;
            targets.add(new Target(gate, new InputChannelInfo(number, channel), recovered));
        }
        gate.setInputChannels(made);
        gates.add(gate);
    }

    /** What a recovered channel is asked for, and what it is handed. */
    private final WatchedChannel.Calls calls =
            new WatchedChannel.Calls() {
                @Override
                public Buffer requested() throws IOException {
                    hasPoolFailed = hasPoolFailed || faults.strike(BUFFER_POOL) != null;
                    if (hasPoolFailed) {
                        throw Faults.failure(BUFFER_POOL);
                    }
                    return isInMemory ? null : roomyBuffer();
                }

                @Override
                public void pushed() {
                    faults.throwUnchecked(CHANNEL_PUSH);
                }
            };

    private Buffer roomyBuffer() {
        roomy++;
        return new NetworkBuffer(MemorySegmentFactory.allocateUnpooledSegment(page), this::recycleRoomy);
    }

    private void recycleRoomy(MemorySegment segment) {
        roomy--;
        segment.free(); // so that a later read fails
    }

    private void read(Source source, int length) throws Exception {
        if (length > 0) {
            boolean isOutput = source.isOutput();
            fetch.read(source.virtual, isOutput, source.next(length));
        }
    }

    private final StateFetch.Content content =
            new StateFetch.Content() {
                @Override
                public int read(int wanted) throws IOException {
                    String kind = faults.strike(STATE_READ);
                    if ("throws".equals(kind)) {
                        throw Faults.failure(STATE_READ);
                    }
                    if (isInMemory) {
                        files.before();
                    }
                    return "short".equals(kind) ? (wanted + 1) / 2 : wanted;
                }

                @Override
                public void dealtWith(Throwable failure) throws IOException {
                    if (isInMemory) {
                        files.after(failure);
                    }
                }
            };

    // ---- the task

    private Target target(Arguments arguments) throws BadRequest {
        InputChannelInfo info = new InputChannelInfo(arguments.index(0), arguments.index(1));
        return targets.stream().filter(one -> one.info.equals(info)).findFirst().orElseThrow();
    }

    /** The recovered channels are converted when Flink allows it: with recover-first once everything was taken. */
    private void convertIfReady() {
        boolean isReady =
                isInMemory
                        ? fetch.hasEnded()
                        : targets.stream().allMatch(one -> ConsumerAccess.stateIsConsumed(one.recovered));
        if (isReady && !isConverted) {
            isConverted = true;
            gates.forEach(SingleInputGate::requestPartitions);
        }
    }

    /** A task that has failed does not go on. */
    private ObjectNode take(Target target) throws Exception {
        if (failed != null) {
            throw failed;
        }
        try {
            return isInMemory ? takeBuffer(target) : takeElement(target);
        } catch (Exception error) {
            failed = error;
            throw error;
        } finally {
            if (!isInMemory) {
                files.after(failed);
            }
        }
    }

    /** Nothing is taken before the conversion: a task does not read its gates before. */
    private ObjectNode takeBuffer(Target target) throws Exception {
        convertIfReady();
        if (!isConverted) {
            return null;
        }
        Optional<InputChannel.BufferAndAvailability> next = target.channel().getNextBuffer();
        while (next.isPresent() && isDescriptor(next.get().buffer())) {
            next.get().buffer().recycleBuffer(); // without a rescale they come, and are ignored
            next = target.channel().getNextBuffer();
        }
        if (next.isEmpty()) {
            return null;
        }
        Buffer buffer = next.get().buffer();
        if (!buffer.isBuffer()) {
            return end(buffer);
        }
        byte[] bytes = bytes(buffer);
        int number = nextBuffer++;
        held.put(number, buffer);
        ObjectNode taken = Json.object().put("buffer", number);
        taken.set("elements", target.decoder.read(bytes));
        return taken.put("open", target.decoder.begun());
    }

    private static boolean isDescriptor(Buffer buffer) throws IOException {
        return !buffer.isBuffer()
                && EventSerializer.fromBuffer(buffer, FilterSubject.class.getClassLoader())
                        instanceof SubtaskConnectionDescriptor;
    }

    /** The end of the recovered state; nothing else is sent. */
    private static ObjectNode end(Buffer buffer) throws IOException {
        boolean ends = Elements.endsRecoveredState(buffer);
        buffer.recycleBuffer();
        if (!ends) {
            throw new Segments.Garbled("an event that nobody has sent");
        }
        return Json.object().put("last", true);
    }

    /** As {@code AbstractStreamTaskNetworkInput.emitNext}. */
    private ObjectNode takeElement(Target target) throws Exception {
        while (true) {
            if (target.demultiplexer.hasBuffer()) {
                StreamElement element = target.demultiplexer.next();
                if (element != null) {
                    ObjectNode taken = Json.object();
                    taken.putArray("elements").add(element(element));
                    return taken;
                }
                continue;
            }
            if (target.isEnded) {
                return null;
            }
            Optional<InputChannel.BufferAndAvailability> next = target.recovered.getNextBuffer();
            if (next.isPresent()) {
                setNext(target, next.get().buffer());
            } else if (!ConsumerAccess.stateIsConsumed(target.recovered)) {
                return null;
            } else {
                if (target.demultiplexer.hasPartialData()) { // RescalingStreamTaskNetworkInput.finishRecovery
                    throw new IllegalStateException("not all data has been fully consumed");
                }
                target.isEnded = true;
                return Json.object().put("last", true);
            }
        }
    }

    private void setNext(Target target, Buffer buffer) throws IOException {
        if (buffer.isBuffer()) {
            files.before();
            target.demultiplexer.setNextBuffer(buffer);
            return;
        }
        AbstractEvent event = EventSerializer.fromBuffer(buffer, FilterSubject.class.getClassLoader());
        buffer.recycleBuffer();
        target.demultiplexer.select((SubtaskConnectionDescriptor) event);
    }

    private static ObjectNode element(StreamElement element) {
        if (element.isRecord()) {
            boolean hasTimestamp = element.asRecord().hasTimestamp();
            Object value = element.asRecord().getValue();
            ObjectNode record =
                    Framing.record((Framing.Value) value, hasTimestamp ? element.asRecord().getTimestamp() : null);
            return record == null ? Framing.unreadable(0) : record;
        }
        if (element.isWatermark()) {
            return Framing.watermark(((Watermark) element).getTimestamp());
        }
        if (element.isWatermarkStatus()) {
            return Framing.status(((WatermarkStatus) element).isActive());
        }
        if (element.isLatencyMarker()) {
            return Framing.latencyMarker(((LatencyMarker) element).getMarkedTime());
        }
        return Framing.attributes(((RecordAttributes) element).isBacklog());
    }

    private static byte[] bytes(Buffer buffer) {
        ByteBuffer readable = buffer.getNioBufferReadable();
        byte[] bytes = new byte[readable.remaining()];
        readable.get(bytes);
        return bytes;
    }

    // ---- checkpoints

    private ArrayNode checkpoint(long checkpoint) throws Exception {
        convertIfReady();
        persisted.clear();
        for (Target target : targets) {
            target.channel().checkpointStarted(Events.unaligned(checkpoint));
        }
        ArrayNode channels = Json.array();
        for (Target target : targets) {
            target.channel().checkpointStopped(checkpoint);
            ArrayNode ids = channels.addArray();
            ByteArrayOutputStream bytes = persisted.get(target.info);
            if (bytes != null) {
                for (JsonNode element : target.decoder.copy().read(bytes.toByteArray())) {
                    if (!element.has("id")) {
                        continue; // other elements are not asked for
                    }
                    ids.add(element.get("id").intValue());
                }
            }
        }
        return channels;
    }

    /** The arguments of {@link ChannelStateWriter#addInputData}. */
    private Object persist(Object[] arguments) throws Exception {
        ByteArrayOutputStream into =
                persisted.computeIfAbsent((InputChannelInfo) arguments[1], unused -> new ByteArrayOutputStream());
        try (CloseableIterator<?> buffers = (CloseableIterator<?>) arguments[3]) {
            while (buffers.hasNext()) {
                Buffer buffer = (Buffer) buffers.next();
                into.writeBytes(bytes(buffer));
                buffer.recycleBuffer();
            }
        }
        return null;
    }

    // ---- faults, resources and the end

    private boolean fault(String place, String kind, long nth) throws IOException {
        if (RecordFiles.PLACES.getOrDefault(place, Set.of()).contains(kind) && files.canFail(place, nth, largest)) {
            faults.arm(place, kind, nth);
            return true;
        }
        boolean isCalled = isInMemory || !place.equals(ValueSerializer.WRITE);
        if (!isCalled || !PLACES.getOrDefault(place, Set.of()).contains(kind)) {
            return false;
        }
        faults.arm(place, kind, nth);
        return true;
    }

    /** A buffer of the heap, which Flink gives out if the pool has none, is counted as long as the task holds it. */
    private ObjectNode resources() throws IOException {
        long heap = held.values().stream().filter(one -> one.getMaxCapacity() != page || !isPooled(one)).count();
        int pooled = memories.stream().mapToInt(Memory::taken).sum();
        return Json.object()
                .put("segments", pooled + roomy + heap)
                .put("files", files.count())
                .put("listeners", 0)
                .put("futures", 0);
    }

    private static boolean isPooled(Buffer buffer) {
        return buffer.getMemorySegment().isOffHeap(); // as those of Flink's pool are
    }

    private void release() throws IOException, InterruptedException {
        if (fetch != null) {
            fetch.interrupt();
        }
        for (Target target : targets) {
            target.demultiplexer.clear();
        }
        for (SingleInputGate gate : gates) {
            gate.close();
        }
        for (PipelinedResultPartition partition : partitions) {
            partition.release();
        }
        files.close();
    }

    @Override
    public void dropped() throws Exception {
        try {
            release();
        } finally {
            files.close();
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    /** A virtual channel, and how much of it was read. */
    private final class Source {

        private final StateFetch.Virtual virtual;
        private final ByteBuffer bytes;
        private final int inputBytes;

        private Source(JsonNode virtual) throws BadRequest {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (JsonNode element : Json.field(virtual, "elements")) {
                byte[] one = Framing.encode(element);
                largest = Math.max(largest, one.length);
                all.writeBytes(one);
            }
            int missing = virtual.path("missing").asInt(0);
            bytes = ByteBuffer.wrap(all.toByteArray(), 0, all.size() - missing);
            inputBytes = (int) Json.number(Json.field(virtual, "input_bytes"));
            InputChannelInfo channel =
                    new InputChannelInfo(
                            (int) Json.number(Json.field(virtual, "gate")),
                            (int) Json.number(Json.field(virtual, "old_channel")));
            this.virtual =
                    new StateFetch.Virtual(
                            channel,
                            (int) Json.number(Json.field(virtual, "old_subtask")),
                            inputBytes,
                            bytes.limit() - inputBytes);
        }

        /** Whether what comes next was not sent by the producer. */
        private boolean isOutput() {
            return bytes.position() >= inputBytes;
        }

        private byte[] next(int length) {
            byte[] chunk = new byte[length];
            bytes.get(chunk);
            return chunk;
        }
    }

    /** A channel of the task. */
    private final class Target {

        private final SingleInputGate gate;
        private final InputChannelInfo info;
        private final RecoveredInputChannel recovered;
        private final Framing.Decoder decoder = new Framing.Decoder();
        private final Demultiplexer demultiplexer;
        private boolean isEnded;

        private Target(SingleInputGate gate, InputChannelInfo info, RecoveredInputChannel recovered) {
            this.gate = gate;
            this.info = info;
            this.recovered = recovered;
            demultiplexer =
                    isRescaled
                            ? Demultiplexers.create(info, task)
                            : Demultiplexer.none(files.folders(), task.inputs[info.getGateIdx()].serializer);
        }

        /** The recovered channel, or the one that it was converted to. */
        private InputChannel channel() {
            return gate.getChannel(info.getInputChannelIdx());
        }
    }
}
