import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.SequentialChannelStateReader;
import org.apache.flink.runtime.checkpoint.channel.SequentialChannelStateReaderImpl;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.deployment.InputGateDeploymentDescriptor;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.ShuffleDescriptorAndIndex;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.NettyShuffleServiceFactory;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.NetworkPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.PartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;

/**
 * The channel state of an input is restored from a file that was cut off inside a segment.
 *
 * <p>Everything is Flink's: the shuffle environment of a task manager, a gate with one channel that recovers, and the
 * reader of channel state that a task calls when it is restored. The file has the header and the segment that Flink
 * writes. Exit status 1: the thread that restores still reads after three seconds.
 * 0: the restore ended as it should. With the argument "control" nothing is cut off; with "length" the file ends inside
 * the length of the segment.
 */
public final class Restore {

    private static final ResourceID HERE = ResourceID.generate();
    private static final ResourceID ELSEWHERE = ResourceID.generate();
    private static final int HEADER = Integer.BYTES;
    private static final int CONTENT = 100;
    private static final long SECONDS = 3;

    public static void main(String[] arguments) throws Exception {
        String how = arguments.length == 0 ? "content" : arguments[0];
        byte[] whole = new byte[HEADER + Integer.BYTES + CONTENT]; // the version is 0
        whole[HEADER + Integer.BYTES - 1] = CONTENT;
        int kept = how.equals("control") ? whole.length : how.equals("length") ? HEADER + 2 : whole.length - 10;
        System.out.println("the file has " + kept + " of " + whole.length + " bytes");
        byte[] bytes = Arrays.copyOf(whole, kept);
        Path file = Files.createTempFile("channel-state", null);
        Files.write(file, bytes);
        StreamStateHandle delegate =
                new FileStateHandle(new org.apache.flink.core.fs.Path(file.toUri()), whole.length);

        NettyShuffleEnvironment taskManager = shuffleEnvironment();
        SingleInputGate gate = gate(taskManager, new ResultPartitionID(), taskManager.start());
        gate.setup();
        Thread recovery = new Thread(() -> restore(delegate, gate), "recovery");
        recovery.setDaemon(true);
        recovery.start();
        recovery.join(1000 * SECONDS);
        Files.delete(file);
        if (recovery.isAlive()) {
            System.out.println("after " + SECONDS + " seconds the thread is " + recovery.getState());
            boolean reads =
                    Arrays.stream(recovery.getStackTrace()).anyMatch(one -> one.getMethodName().equals("readChunk"));
            System.out.println("SPINNING: " + (reads ? "it reads the segment" : "elsewhere"));
            System.exit(1);
        }
        System.exit(0);
    }

    /** What {@code StreamTask.restoreStateAndGates} does in a thread of its own. */
    private static void restore(StreamStateHandle delegate, SingleInputGate gate) {
        InputChannelStateHandle handle =
                new InputChannelStateHandle(
                        0, new InputChannelInfo(0, 0), delegate, List.of((long) HEADER), Integer.BYTES + CONTENT);
        TaskStateSnapshot state = new TaskStateSnapshot();
        state.putSubtaskStateByOperatorID(
                new OperatorID(0, 1),
                OperatorSubtaskState.builder()
                        .setInputChannelState(new StateObjectCollection<>(List.of(handle)))
                        .build());
        try {
            read(new SequentialChannelStateReaderImpl(state), gate);
            System.out.println("the state was restored");
        } catch (Exception error) {
            System.out.println("the restore failed: " + error);
        }
    }

    /** The method has a second parameter since 2.3.0. */
    private static void read(SequentialChannelStateReader reader, InputGate gate) throws Exception {
        for (Method method : SequentialChannelStateReader.class.getMethods()) {
            if (method.getName().equals("readInputData")) {
                Object[] parameters = new Object[method.getParameterCount()];
                parameters[0] = new InputGate[] {gate};
                if (parameters.length > 1) {
                    parameters[1] = method.getParameterTypes()[1].getMethod("disabled").invoke(null);
                }
                try {
                    method.invoke(reader, parameters);
                } catch (InvocationTargetException error) {
                    throw (Exception) error.getCause();
                }
            }
        }
    }

    // ---- what a task manager makes ----------------------------------------------------------------------------------

    private static NettyShuffleEnvironment shuffleEnvironment() throws IOException {
        return new NettyShuffleServiceFactory()
                .createShuffleEnvironment(
                        new ShuffleEnvironmentContext(
                                new Configuration(),
                                HERE,
                                MemorySize.ofMebiBytes(1),
                                false,
                                InetAddress.getLoopbackAddress(),
                                1,
                                new String[] {System.getProperty("java.io.tmpdir")},
                                (partition, event) -> true,
                                new UnregisteredMetricsGroup(),
                                Runnable::run,
                                null));
    }

    private static SingleInputGate gate(NettyShuffleEnvironment taskManager, ResultPartitionID id, int port)
            throws IOException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        NettyShuffleDescriptor shuffle = shuffle(ELSEWHERE, new NetworkPartitionConnectionInfo(address, 0), id);
        ShuffleDescriptorAndIndex[] producers = {new ShuffleDescriptorAndIndex(shuffle, 0)};
        return taskManager
                .createInputGates(
                        owner(taskManager, "consumer"),
                        (set, partition, handler) -> {},
                        List.of(
                                new InputGateDeploymentDescriptor(
                                        new IntermediateDataSetID(),
                                        ResultPartitionType.PIPELINED_BOUNDED,
                                        0,
                                        producers)))
                .get(0);
    }

    private static ShuffleIOOwnerContext owner(NettyShuffleEnvironment taskManager, String name) {
        return taskManager.createShuffleIOOwnerContext(
                name, ExecutionAttemptID.randomId(), new UnregisteredMetricsGroup());
    }

    private static NettyShuffleDescriptor shuffle(
            ResourceID where, PartitionConnectionInfo connection, ResultPartitionID id) {
        return new NettyShuffleDescriptor(where, connection, id);
    }
}
