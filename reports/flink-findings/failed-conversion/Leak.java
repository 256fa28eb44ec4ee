import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.deployment.InputGateDeploymentDescriptor;
import org.apache.flink.runtime.deployment.ResultPartitionDeploymentDescriptor;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.ShuffleDescriptorAndIndex;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.NettyShuffleServiceFactory;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.LocalExecutionPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.NetworkPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.PartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.PartitionDescriptor;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;

/**
 * A recovered input channel cannot be converted to a remote one, and a network buffer is lost for ever.
 *
 * <p>Everything is Flink's: the shuffle environment of a task manager, a gate with one channel that has recovered a
 * buffer, and a result partition of another task, which needs nearly all network buffers. Exit status 1: a buffer was
 * lost. 0: none was lost. With the argument "control" the other task needs few buffers.
 */
public final class Leak {

    private static final ResourceID HERE = ResourceID.generate();
    private static final ResourceID ELSEWHERE = ResourceID.generate();

    public static void main(String[] arguments) throws Exception {
        boolean memoryIsScarce = arguments.length == 0 || !arguments[0].equals("control");
        NettyShuffleEnvironment taskManager = shuffleEnvironment();
        int port = taskManager.start();
        NetworkBufferPool memory = taskManager.getNetworkBufferPool();
        int before = memory.getNumberOfAvailableMemorySegments();
        System.out.println("network buffers before: " + before + " of " + memory.getTotalNumberOfMemorySegments());

        // Another task of the task manager. A partition needs one buffer for each subpartition, and one more.
        ResultPartition neighbour = partition(taskManager, new ResultPartitionID(), memoryIsScarce ? 28 : 1);
        neighbour.setup();

        // The task, which recovers with execution.checkpointing.during-recovery.enabled: one buffer was in flight. Its
        // producer runs in another task manager, whose place this one takes, so that the network can be used.
        ResultPartitionID id = new ResultPartitionID();
        ResultPartition producer = partition(taskManager, id, 1);
        if (!memoryIsScarce) {
            producer.setup();
        }
        SingleInputGate consumer = gate(taskManager, id, port);
        consumer.setCheckpointingDuringRecoveryEnabled(true);
        consumer.setup();
        consumer.setChannelStateWriter(ChannelStateWriter.NO_OP); // no checkpoint is taken
        RecoveredInputChannel recovered = (RecoveredInputChannel) consumer.getChannel(0);
        Buffer inFlight = recovered.requestBufferBlocking(); // as RecoveredChannelStateHandler does
        inFlight.setSize(1024);
        recovered.onRecoveredStateBuffer(inFlight);
        consumer.finishReadRecoveredState();

        // What StreamTask.restoreStateAndGates does then, in a mail: it converts the channels, and requests.
        consumer.requestPartitions();
        if (consumer.getChannel(0) == recovered) {
            System.out.println("the channel was not converted: it is still a " + recovered.getClass().getSimpleName());
        }
        Exception failure = null;
        try {
            take(consumer);
        } catch (Exception failed) { // StreamTask catches it, and the task fails
            failure = failed;
            System.out.println("the poll of the gate failed: " + failed);
        }

        // As Task.releaseResources does, for all tasks.
        consumer.close();
        producer.fail(failure);
        producer.close();
        neighbour.fail(failure);
        neighbour.close();

        int after = memory.getNumberOfAvailableMemorySegments();
        System.out.println("buffer pools that are left: " + memory.getNumberOfRegisteredBufferPools());
        System.out.println("network buffers after all tasks were released: " + after);
        System.out.println(after == before ? "no buffer was lost" : "LOST: " + (before - after));
        System.exit(after == before ? 0 : 1);
    }

    /** Takes the recovered buffer and recycles it, as the deserializer of a task does. */
    private static void take(SingleInputGate consumer) throws IOException, InterruptedException {
        Optional<BufferOrEvent> next = consumer.pollNext();
        if (!next.isPresent() || !next.get().isBuffer()) {
            throw new AssertionError("a buffer was recovered, but the gate answered " + next);
        }
        next.get().getBuffer().recycleBuffer();
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

    private static ResultPartition partition(
            NettyShuffleEnvironment taskManager, ResultPartitionID id, int subpartitions) {
        PartitionDescriptor descriptor =
                new PartitionDescriptor(
                        new IntermediateDataSetID(),
                        1,
                        id.getPartitionId(),
                        ResultPartitionType.PIPELINED_BOUNDED,
                        subpartitions,
                        0,
                        false,
                        false,
                        false);
        NettyShuffleDescriptor shuffle = shuffle(HERE, LocalExecutionPartitionConnectionInfo.INSTANCE, id);
        return taskManager
                .createResultPartitionWriters(
                        owner(taskManager, "producer"),
                        List.of(new ResultPartitionDeploymentDescriptor(descriptor, shuffle, subpartitions)))
                .get(0);
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
