import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.filemerging.LogicalFile;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.ChannelStateHelper;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeOffsets;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle.ChangelogStateBackendHandleImpl;
import org.apache.flink.runtime.state.changelog.ChangelogStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl;
import org.apache.flink.runtime.state.changelog.SequenceNumber;
import org.apache.flink.runtime.state.changelog.StateChange;
import org.apache.flink.runtime.state.changelog.inmemory.InMemoryChangelogStateHandle;
import org.apache.flink.runtime.state.filemerging.DirectoryStreamStateHandle;
import org.apache.flink.runtime.state.filemerging.EmptyFileMergingOperatorStreamStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;

/** Writes a checkpoint of each kind that is rare, each into a folder of its own below the one that is the argument. */
public final class CraftCheckpoints {

    private static final KeyGroupRange KEYS = KeyGroupRange.of(0, 7);

    private CraftCheckpoints() {}

    public static void main(String[] arguments) throws Exception {
        File root = new File(arguments[0]);
        KeyedStateHandle plain = changelog(new File(root, "plain"), false);
        store(new File(root, "plain"), keyed(plain));
        store(new File(root, "compressed"), keyed(changelog(new File(root, "compressed"), true)));
        KeyedStateHandle inMemory =
                backend(
                        List.of(),
                        new InMemoryChangelogStateHandle(
                                List.of(StateChange.ofDataChange(0, new byte[] {1, 2})),
                                SequenceNumber.of(0),
                                SequenceNumber.of(1),
                                KEYS));
        store(new File(root, "in-memory"), keyed(inMemory));
        store(new File(root, "elsewhere"), keyed(file(new Path("s3://bucket/job/shared/abc"))));
        store(new File(root, "long-name"), keyed(file(new Path("/" + "a".repeat(300)))));
        store(new File(root, "stateless"), OperatorSubtaskState.builder().build());
        store(new File(root, "large"), input(large(new File(root, "large"))));
        OperatorSubtaskState.Builder merged = OperatorSubtaskState.builder();
        merged.setInputChannelState(
                ChannelStateHelper.castToInputStateCollection(merged(new File(root, "merged"))));
        merged.setManagedOperatorState(
                EmptyFileMergingOperatorStreamStateHandle.create(
                        DirectoryStreamStateHandle.of(new Path(root + "/merged/taskowned")),
                        DirectoryStreamStateHandle.of(new Path(root + "/merged/shared"))));
        merged.setManagedKeyedState(backend(List.of(inMemory, plain)));
        store(new File(root, "merged"), merged.build());
        Thread deep =
                new Thread(
                        null,
                        () -> {
                            KeyedStateHandle handle = inMemory;
                            for (int depth = 0; depth < 20_000; depth++) {
                                handle = backend(List.of(handle));
                            }
                            store(new File(root, "nested"), keyed(handle));
                        },
                        "deep",
                        1L << 29);
        deep.start();
        deep.join();
        System.exit(0);
    }

    private static void store(File job, OperatorSubtaskState state) {
        OperatorState operator = new OperatorState("operator", "uid", new OperatorID(0, 3), 1, 8);
        operator.putState(0, state);
        File folder = new File(job, "chk-4");
        folder.mkdirs();
        try (DataOutputStream out = new DataOutputStream(new FileOutputStream(new File(folder, "_metadata")))) {
            Checkpoints.storeCheckpointMetadata(new CheckpointMetadata(4, List.of(operator), List.of()), out);
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    private static OperatorSubtaskState keyed(KeyedStateHandle handle) {
        return OperatorSubtaskState.builder().setManagedKeyedState(handle).build();
    }

    private static OperatorSubtaskState input(List<InputChannelStateHandle> handles) {
        return OperatorSubtaskState.builder()
                .setInputChannelState(ChannelStateHelper.castToInputStateCollection(handles))
                .build();
    }

    private static KeyedStateHandle file(Path path) {
        return new KeyGroupsStateHandle(new KeyGroupRangeOffsets(KEYS), new FileStateHandle(path, 10));
    }

    private static KeyedStateHandle backend(List<KeyedStateHandle> base, ChangelogStateHandle... changes) {
        return new ChangelogStateBackendHandleImpl(base, List.of(changes), KEYS, 4, 1, 100);
    }

    private static KeyedStateHandle stream(StreamStateHandle handle) {
        return backend(
                List.of(),
                new ChangelogStateHandleStreamImpl(List.of(Tuple2.of(handle, 0L)), KEYS, 100, 100, "filesystem"));
    }

    /** 100 bytes through the stream of the filesystem changelog, which only its own package may use. */
    private static KeyedStateHandle changelog(File job, boolean isCompressed) throws Exception {
        Files.createDirectories(new File(job, "shared").toPath());
        Path path = new Path(job + "/shared/changelog");
        Class<?> kind = Class.forName("org.apache.flink.changelog.fs.OutputStreamWithPos");
        Constructor<?> make = kind.getDeclaredConstructor(OutputStream.class, Path.class);
        Method wrap = kind.getDeclaredMethod("wrap", boolean.class, int.class);
        Method getHandle = kind.getDeclaredMethod("getHandle", BiFunction.class);
        for (var one : List.of(make, wrap, getHandle)) {
            one.setAccessible(true);
        }
        OutputStream out = FileSystem.get(path.toUri()).create(path, FileSystem.WriteMode.OVERWRITE);
        try (OutputStream stream = (OutputStream) make.newInstance(out, path)) {
            wrap.invoke(stream, isCompressed, 4096);
            stream.write(new byte[100]);
            BiFunction<Path, Long, StreamStateHandle> handle = FileStateHandle::new;
            return stream((StreamStateHandle) getHandle.invoke(stream, handle));
        }
    }

    /** Eight segments of 40 MiB, each with one record. The file is sparse. */
    private static List<InputChannelStateHandle> large(File job) throws Exception {
        Files.createDirectories(new File(job, "chk-4").toPath());
        File file = new File(job, "chk-4/state");
        int length = 40 << 20;
        List<Long> offsets = new ArrayList<>();
        long at = 4;
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            out.writeInt(0);
            for (int segment = 0; segment < 8; segment++) {
                offsets.add(at);
                out.seek(at);
                out.writeInt(length);
                out.writeInt(length - 4);
                at += 4 + length;
            }
            out.setLength(at);
        }
        StreamStateHandle whole = new FileStateHandle(new Path(file.getPath()), at);
        return List.of(new InputChannelStateHandle(0, new InputChannelInfo(0, 0), whole, offsets, at - 4));
    }

    /** Two channel states, each with one record, in two parts of one file. */
    private static List<InputChannelStateHandle> merged(File job) throws Exception {
        Files.createDirectories(new File(job, "shared").toPath());
        File file = new File(job, "shared/merged");
        List<InputChannelStateHandle> handles = new ArrayList<>();
        try (DataOutputStream out = new DataOutputStream(new FileOutputStream(file))) {
            for (int part = 0; part < 2; part++) {
                for (int number : new int[] {0, 8, 4, 7}) {
                    out.writeInt(number);
                }
                StreamStateHandle segment =
                        new SegmentFileStateHandle(
                                new Path(file.getPath()),
                                16 * part,
                                16,
                                CheckpointedStateScope.EXCLUSIVE,
                                LogicalFile.LogicalFileId.generateRandomId());
                handles.add(
                        new InputChannelStateHandle(0, new InputChannelInfo(0, part), segment, List.of(4L), 12));
            }
        }
        return handles;
    }
}
