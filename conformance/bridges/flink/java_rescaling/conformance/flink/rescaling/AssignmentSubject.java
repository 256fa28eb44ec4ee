package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import conformance.flink.Subject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.IntUnaryOperator;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.RescaleMappings;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The state assignment of Flink. Each question is asked at least twice, since Flink must not answer by chance. */
public final class AssignmentSubject implements Subject {

    /** Those of its configuration. */
    public static final String[] FIELDS = {"vertices", "edges", "output_on_downstream"};

    /** Whether consumers can recover the output state of their producers. */
    public static final boolean CAN_RECOVER_ON_DOWNSTREAM = Assignments.CAN_RECOVER_ON_DOWNSTREAM;

    private static final StreamStateHandle DATA = new ByteStreamStateHandle("channel state", new byte[1]);

    private static final int TIMES = 2;
    /** So often that answers by chance differ: half of them do, where the order of two vertices counts. */
    private static final int UNCLEAR_TIMES = 20;

    private final boolean outputOnDownstream;
    /** The job as it was when its state was stored, with the maximum parallelisms of that state. */
    private final JobShape stored;

    private JobShape restored;
    private final List<Map<Integer, List<InputChannelStateHandle>>> inputs = new ArrayList<>();
    private final List<Map<Integer, List<ResultSubpartitionStateHandle>>> outputs = new ArrayList<>();
    private final List<Answer> answers = new ArrayList<>();
    private int calls;
    private boolean isAsked;
    private boolean isAnswered;

    public AssignmentSubject(JsonNode config) throws BadRequest {
        outputOnDownstream = config.path("output_on_downstream").asBoolean(true);
        if (outputOnDownstream && !Assignments.CAN_RECOVER_ON_DOWNSTREAM) {
            throw new BadRequest("this release does not recover output state on the consumers");
        }
        stored = JobShape.parse(config);
        begin();
    }

    /** The next checkpoint, which holds nothing yet, of the job as it is now. */
    private void begin() {
        inputs.clear();
        outputs.clear();
        answers.clear();
        for (int vertex = 0; vertex < stored.vertices(); vertex++) {
            inputs.add(new HashMap<>());
            outputs.add(new HashMap<>());
        }
        restored = stored.unconfigured();
        isAsked = false;
        isAnswered = false;
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "assign":
                return assign();
            case "resources":
                return Json.object().put("segments", 0).put("heap", 0).put("files", 0).put("listeners", 0)
                        .put("futures", 0);
            case "release":
                return null;
            default:
                collect(method, arguments);
                return null;
        }
    }

    private void collect(String method, Arguments arguments) throws BadRequest {
        if (isAnswered) {
            System.arraycopy(restored.parallelisms, 0, stored.parallelisms, 0, stored.vertices());
            System.arraycopy(restored.chained, 0, stored.chained, 0, stored.edges());
        }
        if (isAsked) {
            begin();
        }
        int first = arguments.index(0);
        switch (method) {
            case "hold_input":
                inputs.get(first).computeIfAbsent(arguments.index(1), unused -> new ArrayList<>())
                        .add(
                                new InputChannelStateHandle(
                                        arguments.index(1),
                                        new InputChannelInfo(arguments.index(2), arguments.index(3)),
                                        DATA,
                                        List.of(0L),
                                        1));
                return;
            case "hold_output":
                outputs.get(first).computeIfAbsent(arguments.index(1), unused -> new ArrayList<>())
                        .add(
                                new ResultSubpartitionStateHandle(
                                        arguments.index(1),
                                        new ResultSubpartitionInfo(arguments.index(2), arguments.index(3)),
                                        DATA,
                                        List.of(0L),
                                        1));
                return;
            case "rescale":
                restored.parallelisms[first] = arguments.index(1);
                return;
            case "limit":
                restored.maxParallelisms[first] = arguments.index(1);
                return;
            case "chain":
                restored.chained[first] = true;
                return;
            default:
                throw new BadRequest("state assignment has no method \"" + method + "\"");
        }
    }

    /** The first call returns one of the answers that Flink gives to the question, the next call the next one. */
    private ArrayNode assign() throws Exception {
        if (!isAsked) {
            ask();
            isAsked = true;
        }
        Answer answer = answers.get(calls++ % answers.size());
        if (answer.error != null) {
            throw answer.error;
        }
        isAnswered = true;
        return answer.value;
    }

    /**
     * Asks several times, on fresh graphs, and keeps the answers that differ, in an order of their own. Of several
     * reasons to refuse a question, which one Flink names is left to chance, and one is kept.
     */
    private void ask() {
        Map<String, Answer> found = new TreeMap<>();
        boolean isUnclear = restored.isUnclear();
        for (int time = 0; time < (isUnclear ? UNCLEAR_TIMES : TIMES); time++) {
            Answer answer = Answer.of(() -> answer(restore()));
            found.putIfAbsent(answer.text, answer);
            isUnclear |= answer.error != null;
        }
        answers.addAll(found.values());
        if (answers.stream().allMatch(one -> one.error != null)) {
            answers.subList(1, answers.size()).clear();
        }
        calls = 0;
    }

    /** Assigns what is held to the subtasks of a fresh graph. */
    private DeployedJob restore() throws Exception {
        OperatorID[] operators = new OperatorID[stored.vertices()];
        Map<OperatorID, OperatorState> states = new HashMap<>();
        for (int vertex = 0; vertex < operators.length; vertex++) {
            operators[vertex] = new OperatorID(0, vertex);
            OperatorState state =
                    Graphs.state(operators[vertex], stored.parallelisms[vertex], stored.maxParallelisms[vertex]);
            put(vertex, state);
            states.put(operators[vertex], state);
        }
        DeployedJob job = new DeployedJob(restored, operators);
        job.assign(states, outputOnDownstream);
        return job;
    }

    /** Of a subtask without handles there is nothing, as of a task that reports no state. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // the type of the handles in a collection differs between releases
    private void put(int vertex, OperatorState state) {
        for (int subtask = 0; subtask < state.getParallelism(); subtask++) {
            List read = inputs.get(vertex).getOrDefault(subtask, List.of());
            List written = outputs.get(vertex).getOrDefault(subtask, List.of());
            if (!read.isEmpty() || !written.isEmpty()) {
                state.putState(
                        subtask,
                        OperatorSubtaskState.builder()
                                .setInputChannelState(new StateObjectCollection(read))
                                .setResultSubpartitionState(new StateObjectCollection(written))
                                .build());
            }
        }
    }

    private ArrayNode answer(DeployedJob job) {
        ArrayNode answer = Json.array();
        for (int vertex = 0; vertex < restored.vertices(); vertex++) {
            for (int subtask = 0; subtask < job.parallelism(vertex); subtask++) {
                OperatorSubtaskState state = job.restored(vertex, subtask);
                if (state != null) {
                    answer.add(assigned(job, vertex, subtask, state));
                }
            }
        }
        return answer;
    }

    private ObjectNode assigned(DeployedJob job, int vertex, int subtask, OperatorSubtaskState state) {
        List<ObjectNode> ownInputs = new ArrayList<>();
        for (Object handle : state.getInputChannelState()) {
            ownInputs.add(input((InputChannelStateHandle) handle));
        }
        List<ObjectNode> fromUpstream = new ArrayList<>();
        for (InputChannelStateHandle handle : Assignments.fromUpstream(state)) {
            fromUpstream.add(input(handle));
        }
        List<ObjectNode> ownOutputs = new ArrayList<>();
        for (Object handle : state.getResultSubpartitionState()) {
            ownOutputs.add(output((ResultSubpartitionStateHandle) handle));
        }
        ObjectNode assigned = Json.object().put("vertex", vertex).put("subtask", subtask);
        assigned.set("inputs", sorted(ownInputs));
        assigned.set("from_upstream", sorted(fromUpstream));
        assigned.set("outputs", sorted(ownOutputs));
        assigned.set(
                "gates",
                mappings(
                        state.getInputRescalingDescriptor(),
                        restored.gates(vertex),
                        gate -> job.channels(vertex, subtask, gate)));
        assigned.set(
                "partitions",
                mappings(
                        state.getOutputRescalingDescriptor(),
                        restored.partitions(vertex),
                        partition -> job.subpartitions(vertex, subtask, partition)));
        return assigned;
    }

    /** Flink collects handles by the hashes of ids that are drawn at random; their order means nothing. */
    private static ArrayNode sorted(List<ObjectNode> handles) {
        Comparator<ObjectNode> byNumbers = (one, other) -> 0;
        for (String field : List.of("old_subtask", "gate", "partition", "old_channel", "old_subpartition")) {
            byNumbers = byNumbers.thenComparingInt(handle -> handle.path(field).intValue());
        }
        handles.sort(byNumbers);
        return Json.array().addAll(handles);
    }

    private static ObjectNode input(InputChannelStateHandle handle) {
        return Json.object()
                .put("old_subtask", handle.getSubtaskIndex())
                .put("gate", handle.getInfo().getGateIdx())
                .put("old_channel", handle.getInfo().getInputChannelIdx());
    }

    private static ObjectNode output(ResultSubpartitionStateHandle handle) {
        return Json.object()
                .put("old_subtask", handle.getSubtaskIndex())
                .put("partition", handle.getInfo().getPartitionIdx())
                .put("old_subpartition", handle.getInfo().getSubPartitionIdx());
    }

    /** The mappings of all gates, or of all partitions; {@code channels} says how many one has. */
    private static ArrayNode mappings(
            InflightDataRescalingDescriptor descriptor, int count, IntUnaryOperator channels) {
        ArrayNode mappings = Json.array();
        if (!descriptor.equals(InflightDataRescalingDescriptor.NO_RESCALE)) {
            for (int number = 0; number < count; number++) {
                mappings.add(mapping(descriptor, number, channels));
            }
        }
        return mappings;
    }

    /** Null if no state is in flight there, which is {@code NO_STATE} in Flink and not accessible. */
    private static ObjectNode mapping(
            InflightDataRescalingDescriptor descriptor, int number, IntUnaryOperator channels) {
        int[] olds = descriptor.getOldSubtaskIndexes(number);
        RescaleMappings mapped = descriptor.getChannelMapping(number);
        if (olds.length == 0 && mapped == RescaleMappings.SYMMETRIC_IDENTITY) {
            return null;
        }
        ObjectNode mapping = Json.object();
        ArrayNode oldSubtasks = mapping.putArray("old_subtasks");
        ArrayNode continued = mapping.putArray("channels");
        ArrayNode ambiguous = mapping.putArray("ambiguous");
        for (int old : olds) {
            oldSubtasks.add(old);
            if (descriptor.isAmbiguous(number, old)) {
                ambiguous.add(old);
            }
        }
        for (int channel = 0; channel < channels.applyAsInt(number); channel++) {
            ArrayNode ones = continued.addArray();
            for (int old : mapped.getMappedIndexes(channel)) {
                ones.add(old);
            }
        }
        return mapping;
    }

    @Override
    public ArrayNode takeSignals() {
        return null;
    }

    /** What Flink answers to a question: a value or an error. */
    private static final class Answer {

        private final ArrayNode value;
        private final Exception error;
        private final String text;

        private Answer(ArrayNode value, Exception error) {
            this.value = value;
            this.error = error;
            text = String.valueOf(error == null ? value : error);
        }

        private static Answer of(Callable<ArrayNode> question) {
            try {
                return new Answer(question.call(), null);
            } catch (Exception error) {
                return new Answer(null, error);
            }
        }
    }
}
