package conformance.flink;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.channel.SegmentReader;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.checkpoint.metadata.MetadataSerializers;
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
import org.apache.flink.runtime.state.changelog.inmemory.InMemoryChangelogStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Prints what Flink reads in the {@code _metadata} of checkpoints and in the channel state that they name, and where they
 * keep all other state: a line of JSON for each checkpoint, at once, so that what comes later can spoil none. What Flink
 * cannot read is printed with the error. Whether that is damage is judged in Python.
 */
public final class StoredState {

    private final ArrayNode sources = Json.array();
    private final ArrayNode states = Json.array();
    private final ArrayNode others = Json.array();
    private final Map<PhysicalStateHandleID, Integer> numbers = new HashMap<>();

    private StoredState() {}

    /** On stdin are the files {@code _metadata}, by absolute path, in UTF-8, with a zero between them. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        for (String path : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\0")) {
            answers.write((line(new File(path)) + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }

    private static String line(File file) throws IOException {
        try {
            return Json.write(checkpoint(file));
        } catch (OutOfMemoryError error) {
            return Json.write(Json.object().put("unread", "Flink needs more memory to read it: " + error));
        } catch (FileSystemException | InvalidPathException error) { // of the machine, not of the checkpoint
            return Json.write(Json.object().put("unread", "Flink cannot open it: " + error));
        } catch (Exception | StackOverflowError error) {
            return Json.write(Json.object().put("error", error.toString()));
        }
    }

    private static ObjectNode checkpoint(File file) throws IOException {
        CheckpointMetadata metadata;
        try (DataInputStream stream =
                new DataInputStream(new BufferedInputStream(Files.newInputStream(file.toPath())))) {
            stream.mark(2 * Integer.BYTES);
            if (stream.readInt() == Checkpoints.HEADER_MAGIC_NUMBER) {
                int version = stream.readInt();
                if (!isKnown(version)) {
                    return Json.object()
                            .put("unread", "its format has version " + version + ", which this release does not know");
                }
            }
            stream.reset();
            // Flink decodes no `%`, so this must be the path, not a URI.
            metadata = Checkpoints.loadCheckpointMetadata(stream, StoredState.class.getClassLoader(), file.getParent());
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
        ObjectNode read = Json.object().put("checkpoint", metadata.getCheckpointId());
        read.set("sources", found.sources);
        read.set("states", found.states);
        read.set("others", found.others);
        return read;
    }

    private static boolean isKnown(int version) {
        try {
            MetadataSerializers.getSerializer(version);
            return true;
        } catch (IllegalArgumentException unknown) {
            return false;
        }
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
                    .forEach(one -> addOther(kind, operator, subtask, one.f0).put("changelog", true));
        } else {
            addOther(kind, operator, subtask, handle);
        }
    }

    /** {@code subtask}: -1 for the coordinator of the operator. */
    private ObjectNode addOther(String kind, String operator, int subtask, StateObject handle) {
        ObjectNode other = place(handle).put("kind", kind).put("operator", operator).put("subtask", subtask);
        others.add(other);
        return other;
    }

    /** Where the bytes of a handle are: in a file, in a part of one, or, if it says nothing, in {@code _metadata}. */
    private static ObjectNode place(StateObject handle) {
        ObjectNode place = Json.object().put("size", handle.getStateSize());
        if (handle instanceof SegmentFileStateHandle) {
            SegmentFileStateHandle part = (SegmentFileStateHandle) handle;
            if (part.getStateSize() > 0) { // an empty one names a file that does not exist
                addFile(place.put("start", part.getStartPos()), part.getFilePath());
            }
        } else if (handle instanceof FileStateHandle) {
            addFile(place, ((FileStateHandle) handle).getFilePath());
        } else if (!(handle instanceof ByteStreamStateHandle || handle instanceof InMemoryChangelogStateHandle)) {
            place.put("unknown", handle.getClass().getName());
        }
        return place;
    }

    private static void addFile(ObjectNode place, Path path) {
        String scheme = path.toUri().getScheme();
        if (scheme == null || scheme.equals("file")) {
            place.put("file", path.getPath());
        } else {
            place.put("elsewhere", path.toString());
        }
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
        int source = source(handle.getDelegate());
        ObjectNode state =
                Json.object()
                        .put("source", source)
                        .put("subtask", subtask)
                        .put("output", isOutput)
                        .put("group", group)
                        .put("channel", channel)
                        .put("size", handle.getStateSize());
        if (!sources.get(source).has("error")) {
            addSegments(state, handle.getDelegate(), handle.getOffsets(), isOutput ? null : new RecordCount());
        }
        states.add(state);
    }

    /** {@code count}: null for output, of which it is not known where the first record begins. */
    private static void addSegments(ObjectNode state, StreamStateHandle delegate, List<Long> offsets, RecordCount count) {
        ArrayNode segments = state.putArray("segments");
        OutputStream content = count == null ? OutputStream.nullOutputStream() : count;
        try (SegmentReader reader = new SegmentReader(delegate, delegate.getStateSize())) {
            for (long offset : offsets) {
                ObjectNode segment = segments.addObject().put("offset", offset);
                try {
                    segment.put("length", reader.read(offset, content));
                } catch (IOException | RuntimeException error) {
                    segment.put("error", error.toString());
                }
            }
        } catch (IOException | RuntimeException error) {
            segments.addObject().put("offset", 0).put("error", error.toString());
        }
        if (count != null) {
            state.put("records", count.records()).put("wrong", count.wrong());
        }
    }

    /** The number of what a handle reads from: a file, a part of one, or bytes in {@code _metadata}. */
    private int source(StreamStateHandle delegate) {
        Integer known = numbers.get(delegate.getStreamStateHandleID());
        if (known != null) {
            return known;
        }
        ObjectNode source = place(delegate);
        try {
            if (source.has("elsewhere")) {
                throw new IOException("it is not on a local disk");
            }
            if (source.has("file") && !Files.isRegularFile(java.nio.file.Path.of(source.get("file").asText()))) {
                throw new IOException("it is no regular file"); // to open a FIFO waits, and a device may never end
            }
            try (SegmentReader reader = new SegmentReader(delegate, delegate.getStateSize())) {
                source.put("header", reader.header());
            }
        } catch (IOException | RuntimeException error) {
            source.put("error", error.toString());
        }
        numbers.put(delegate.getStreamStateHandleID(), sources.size());
        sources.add(source);
        return sources.size() - 1;
    }
}
