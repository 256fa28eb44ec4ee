import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.deployment.InputGateDeploymentDescriptor;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.ShuffleDescriptorAndIndex;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.NettyShuffleServiceFactory;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.NetworkPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.PartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;

/**
 * A recovered input channel is released before it is asked for its first buffer, and a network buffer is lost for ever.
 *
 * <p>Everything is Flink's: the shuffle environment of a task manager, and a gate with one channel that recovers. Only
 * the order of the calls is chosen here. Exit status 1: a buffer was lost. 0: none was lost. With the argument
 * "control" the gate is closed last.
 */
public final class Leak {

    private static final ResourceID HERE = ResourceID.generate();
    private static final ResourceID ELSEWHERE = ResourceID.generate();

    public static void main(String[] arguments) throws Exception {
        boolean isLate = arguments.length == 0 || !arguments[0].equals("control");
        NettyShuffleEnvironment taskManager = shuffleEnvironment();
        int port = taskManager.start();
        NetworkBufferPool memory = taskManager.getNetworkBufferPool();
        int before = memory.getNumberOfAvailableMemorySegments();
        System.out.println("network buffers before: " + before + " of " + memory.getTotalNumberOfMemorySegments());

        // A task that recovers: its recovery thread has still to read what was in flight in this channel.
        SingleInputGate consumer = gate(taskManager, new ResultPartitionID(), port);
        consumer.setup();
        RecoveredInputChannel recovered = (RecoveredInputChannel) consumer.getChannel(0);

        // The task is cancelled, and its gates are closed (Task.releaseResources), while the recovery thread goes on.
        if (isLate) {
            consumer.close();
            System.out.println("the gate was closed: " + consumer.getCloseFuture().isDone());
        }

        // The recovery thread asks for its first buffer, as RecoveredChannelStateHandler does, and gives it back.
        recovered.requestBufferBlocking().recycleBuffer();
        if (isLate) {
            System.out.println("the released channel gave a buffer, which was recycled");
        }
        consumer.close();

        int after = memory.getNumberOfAvailableMemorySegments();
        System.out.println("buffer pools that are left: " + memory.getNumberOfRegisteredBufferPools());
        System.out.println("network buffers after all tasks were released: " + after);
        System.out.println(after == before ? "no buffer was lost" : "LOST: " + (before - after));
        System.exit(after == before ? 0 : 1);
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
