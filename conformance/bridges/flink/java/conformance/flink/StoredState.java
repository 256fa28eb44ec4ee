package conformance.flink;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.channel.SegmentReader;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.AbstractChannelStateHandle;
import org.apache.flink.runtime.state.ChannelStateHelper;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.PhysicalStateHandleID;
import org.apache.flink.runtime.state.StateObject;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Prints what Flink reads in the {@code _metadata} of checkpoints and in the channel state that they name, and where they
 * keep all other state, as JSON. What Flink cannot read is printed with the error. Whether that is damage is judged in
 * Python.
 */
public final class StoredState {

    private final ArrayNode sources = Json.array();
    private final ArrayNode states = Json.array();
    private final ArrayNode others = Json.array();
    private final Map<PhysicalStateHandleID, Integer> numbers = new HashMap<>();

    private StoredState() {}

    /** {@code arguments}: the files {@code _metadata}, by absolute path. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        ArrayNode read = Json.array();
        for (String path : arguments) {
            read.add(checkpoint(new File(path)));
        }
        ObjectNode all = Json.object();
        all.set("checkpoints", read);
        answers.write(Json.write(all).getBytes(StandardCharsets.UTF_8));
        answers.flush();
    }

    private static ObjectNode checkpoint(File file) {
        ObjectNode read = Json.object().put("path", file.getPath());
        CheckpointMetadata metadata;
        try (DataInputStream stream = new DataInputStream(Files.newInputStream(file.toPath()))) {
            metadata =
                    Checkpoints.loadCheckpointMetadata(
                            stream, StoredState.class.getClassLoader(), file.getParentFile().toURI().toString());
        } catch (IOException | RuntimeException | OutOfMemoryError error) {
            return read.put("error", error.toString());
        }
        StoredState found = new StoredState();
        for (OperatorState operator : metadata.getOperatorStates()) {
            String id = operator.getOperatorID().toString();
            operator.getSubtaskStates().forEach(found::addSubtask);
            operator.getSubtaskStates().forEach((subtask, state) -> found.addOthers(id, subtask, state));
            if (operator.getCoordinatorState() != null) {
                found.addOther("coordinator", id, -1, operator.getCoordinatorState());
            }
        }
        read.put("checkpoint", metadata.getCheckpointId());
        read.set("sources", found.sources);
        read.set("states", found.states);
        read.set("others", found.others);
        return read;
    }

    /** Adds the state of a subtask that is no channel state. */
    private void addOthers(String operator, int subtask, OperatorSubtaskState state) {
        for (OperatorStateHandle one : state.getManagedOperatorState()) {
            addOther("operator", operator, subtask, one.getDelegateStateHandle());
        }
        for (OperatorStateHandle one : state.getRawOperatorState()) {
            addOther("raw operator", operator, subtask, one.getDelegateStateHandle());
        }
        state.getManagedKeyedState().forEach(one -> addKeyed("keyed", operator, subtask, one));
        state.getRawKeyedState().forEach(one -> addKeyed("raw keyed", operator, subtask, one));
    }

    private void addKeyed(String kind, String operator, int subtask, KeyedStateHandle handle) {
        if (handle instanceof KeyGroupsStateHandle) {
            addOther(kind, operator, subtask, ((KeyGroupsStateHandle) handle).getDelegateStateHandle());
        } else if (handle instanceof IncrementalRemoteKeyedStateHandle) {
            IncrementalRemoteKeyedStateHandle parts = (IncrementalRemoteKeyedStateHandle) handle;
            addOther(kind, operator, subtask, parts.getMetaDataStateHandle());
            parts.getSharedState().forEach(one -> addOther(kind, operator, subtask, one.getHandle()));
            parts.getPrivateState().forEach(one -> addOther(kind, operator, subtask, one.getHandle()));
        } else if (handle instanceof ChangelogStateBackendHandle) {
            ChangelogStateBackendHandle parts = (ChangelogStateBackendHandle) handle;
            parts.getMaterializedStateHandles().forEach(one -> addKeyed(kind, operator, subtask, one));
            parts.getNonMaterializedStateHandles().forEach(one -> addKeyed(kind, operator, subtask, one));
        } else if (handle instanceof ChangelogStateHandleStreamImpl) {
            ((ChangelogStateHandleStreamImpl) handle)
                    .getHandlesAndOffsets()
                    .forEach(one -> addOther(kind, operator, subtask, one.f0));
        } else {
            addOther(kind, operator, subtask, handle);
        }
    }

    /** {@code subtask}: -1 for the coordinator of the operator. */
    private void addOther(String kind, String operator, int subtask, StateObject handle) {
        ObjectNode other =
                Json.object()
                        .put("kind", kind)
                        .put("operator", operator)
                        .put("subtask", subtask)
                        .put("size", handle.getStateSize());
        if (handle instanceof SegmentFileStateHandle) {
            SegmentFileStateHandle part = (SegmentFileStateHandle) handle;
            other.put("file", part.getFilePath().getPath()).put("start", part.getStartPos());
        } else if (handle instanceof FileStateHandle) {
            other.put("file", ((FileStateHandle) handle).getFilePath().getPath());
        } else if (!(handle instanceof ByteStreamStateHandle)) {
            other.put("unknown", handle.getClass().getName());
        }
        others.add(other);
    }

    private void addSubtask(int subtask, OperatorSubtaskState state) {
        ChannelStateHelper.extractUnmergedInputHandles(state)
                .forEach(
                        one -> {
                            InputChannelInfo channel = one.getInfo();
                            add(one, subtask, false, channel.getGateIdx(), channel.getInputChannelIdx());
                        });
        ChannelStateHelper.extractUnmergedOutputHandles(state)
                .forEach(
                        one -> {
                            ResultSubpartitionInfo channel = one.getInfo();
                            add(one, subtask, true, channel.getPartitionIdx(), channel.getSubPartitionIdx());
                        });
    }

    /** {@code group}: the number of the gate or of the partition. */
    private void add(AbstractChannelStateHandle<?> handle, int subtask, boolean isOutput, int group, int channel) {
        StreamStateHandle delegate = handle.getDelegate();
        ObjectNode state =
                Json.object()
                        .put("source", source(delegate))
                        .put("subtask", subtask)
                        .put("output", isOutput)
                        .put("group", group)
                        .put("channel", channel)
                        .put("size", handle.getStateSize());
        state.set("segments", segments(delegate, handle.getOffsets()));
        states.add(state);
    }

    private static ArrayNode segments(StreamStateHandle delegate, List<Long> offsets) {
        ArrayNode segments = Json.array();
        List<Long> left = new ArrayList<>(offsets);
        try (SegmentReader reader = new SegmentReader(delegate, delegate.getStateSize())) {
            while (!left.isEmpty()) {
                long offset = left.remove(0);
                ObjectNode segment = Json.object().put("offset", offset);
                try {
                    segment.put("content", reader.segment(offset));
                } catch (IOException | RuntimeException | OutOfMemoryError error) {
                    segment.put("error", error.toString());
                }
                segments.add(segment);
            }
        } catch (IOException | RuntimeException | OutOfMemoryError error) { // the source says so, too
            left.forEach(offset -> segments.add(Json.object().put("offset", offset).put("error", error.toString())));
        }
        return segments;
    }

    /** The number of what a handle reads from: a file, a part of one, or bytes in {@code _metadata}. */
    private int source(StreamStateHandle delegate) {
        Integer known = numbers.get(delegate.getStreamStateHandleID());
        if (known != null) {
            return known;
        }
        ObjectNode source = Json.object().put("size", delegate.getStateSize());
        if (delegate instanceof FileStateHandle) {
            source.put("file", ((FileStateHandle) delegate).getFilePath().getPath());
        } else if (delegate instanceof SegmentFileStateHandle) {
            SegmentFileStateHandle part = (SegmentFileStateHandle) delegate;
            source.put("file", part.getFilePath().getPath()).put("start", part.getStartPos());
        }
        try (SegmentReader reader = new SegmentReader(delegate, delegate.getStateSize())) {
            source.put("header", reader.header());
        } catch (IOException | RuntimeException | OutOfMemoryError error) {
            source.put("error", error.toString());
        }
        numbers.put(delegate.getStreamStateHandleID(), sources.size());
        sources.add(source);
        return sources.size() - 1;
    }
}
