package conformance.flink.pipeline;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.memory.DataInputViewStreamWrapper;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Where the splits of all sources are in a completed checkpoint, as Flink has written it. Nothing is remembered. */
final class StoredSplits {

    /** The name of the list in which Flink keeps the splits of a reader. */
    private static final String STATE = "SourceReaderState";
    /** How Flink writes the state of an enumerator: this version, that of the state, and its length come first. */
    private static final int COORDINATOR_VERSION = 1;

    private final JobPlan plan;
    private final List<Integer> unassigned = new ArrayList<>();
    private final Map<Integer, Map<Integer, List<Split>>> read = new TreeMap<>(); // by vertex and subtask

    private StoredSplits(JobPlan plan) {
        this.plan = plan;
    }

    /** Says in a checkpoint where the splits are. */
    static void say(JobPlan plan, String location, ObjectNode checkpoint) throws IOException {
        StoredSplits splits = new StoredSplits(plan);
        Path metadata = Path.of(URI.create(location)).resolve("_metadata");
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(metadata)))) {
            ClassLoader loader = StoredSplits.class.getClassLoader();
            for (OperatorState one : Checkpoints.loadCheckpointMetadata(in, loader, location).getOperatorStates()) {
                if (one.getCoordinatorState() != null) { // it is a source: no other operator here has a coordinator
                    splits.readSource(one);
                }
            }
        }
        splits.writeTo(checkpoint);
    }

    private void readSource(OperatorState source) throws IOException {
        readUnassigned(source.getCoordinatorState().getData());
        for (Map.Entry<Integer, OperatorSubtaskState> one : source.getSubtaskStates().entrySet()) {
            for (OperatorStateHandle handle : one.getValue().getManagedOperatorState()) {
                for (Split split : splits(handle)) {
                    read.computeIfAbsent(vertexOf(split), vertex -> new TreeMap<>())
                            .computeIfAbsent(one.getKey(), subtask -> new ArrayList<>())
                            .add(split);
                }
            }
        }
    }

    private void readUnassigned(byte[] state) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(state);
        int coordinator = in.getInt();
        if (coordinator != COORDINATOR_VERSION) {
            throw new IOException("the state of a coordinator of version " + coordinator + " is not known here");
        }
        int version = in.getInt();
        byte[] splits = new byte[in.getInt()];
        in.get(splits);
        for (Split split : new Split.OfUnassigned().deserialize(version, splits)) {
            unassigned.add(split.number());
        }
    }

    private static List<Split> splits(OperatorStateHandle handle) throws IOException {
        List<Split> splits = new ArrayList<>();
        OperatorStateHandle.StateMetaInfo places = handle.getStateNameToPartitionOffsets().get(STATE);
        if (places == null) {
            return splits;
        }
        try (FSDataInputStream in = handle.openInputStream()) {
            for (long place : places.getOffsets()) {
                in.seek(place);
                byte[] split = BytePrimitiveArraySerializer.INSTANCE.deserialize(new DataInputViewStreamWrapper(in));
                splits.add(SimpleVersionedSerialization.readVersionAndDeSerialize(new Split.Serializer(), split));
            }
        }
        return splits;
    }

    private int vertexOf(Split split) throws IOException {
        for (JobPlan.Vertex vertex : plan.vertices) {
            if (split.number() >= vertex.firstSplit && split.number() < vertex.firstSplit + vertex.splits) {
                return vertex.number;
            }
        }
        throw new IOException("the checkpoint has split " + split.number() + ", which no source has");
    }

    private void writeTo(ObjectNode checkpoint) {
        ArrayNode none = checkpoint.putArray("unassigned");
        unassigned.stream().sorted().forEach(none::add);
        ArrayNode states = checkpoint.putArray("states");
        for (JobPlan.Vertex vertex : plan.vertices) {
            ArrayNode subtasks = states.addArray();
            Map<Integer, List<Split>> of = read.getOrDefault(vertex.number, Map.of());
            for (int subtask = 0; vertex.isSource() && subtask < vertex.parallelism; subtask++) {
                ArrayNode splits = subtasks.addObject().putArray("splits");
                of.getOrDefault(subtask, List.of()).stream()
                        .sorted(Comparator.comparingInt(Split::number))
                        .forEach(split -> split.sayIn(splits));
            }
        }
    }
}
