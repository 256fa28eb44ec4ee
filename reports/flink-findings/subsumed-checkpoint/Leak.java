import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriteRequestExecutorFactory;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriterImpl;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.deployment.InputGateDeploymentDescriptor;
import org.apache.flink.runtime.deployment.ResultPartitionDeploymentDescriptor;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.ShuffleDescriptorAndIndex;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.NettyShuffleServiceFactory;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.RecoveredInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.LocalExecutionPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.PartitionDescriptor;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.memory.MemoryBackendCheckpointStorageAccess;

/**
 * A local input channel refuses a checkpoint as subsumed, and a network buffer is lost for ever.
 *
 * <p>Everything is Flink's: the shuffle environment of a task manager, a result partition, a gate with one local
 * channel that took over a recovered buffer, and the channel state writer. Only the order of the calls is chosen here.
 * Exit status 1: a buffer was lost. 0: none was lost. With the argument "control" no newer barrier comes first.
 */
public final class Leak {

    private static final CheckpointOptions OPTIONS =
            CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault());

    private static final ResourceID HERE = ResourceID.generate();

    public static void main(String[] arguments) throws Exception {
        boolean newerComesFirst = arguments.length == 0 || !arguments[0].equals("control");
        NettyShuffleEnvironment taskManager = shuffleEnvironment();
        taskManager.start();
        NetworkBufferPool memory = taskManager.getNetworkBufferPool();
        int before = memory.getNumberOfAvailableMemorySegments();
        System.out.println("network buffers before: " + before + " of " + memory.getTotalNumberOfMemorySegments());

        ResultPartitionID id = new ResultPartitionID();
        IntermediateDataSetID dataSet = new IntermediateDataSetID();
        ResultPartition producer = partition(taskManager, id, dataSet);
        SingleInputGate consumer = gate(taskManager, id, dataSet);
        CheckpointStorageWorkerView storage =
                new MemoryBackendCheckpointStorageAccess(new JobID(), null, null, true, 1024 * 1024);
        ChannelStateWriter writer =
                new ChannelStateWriterImpl(
                        new JobVertexID(),
                        "consumer",
                        0,
                        () -> storage,
                        new ChannelStateWriteRequestExecutorFactory(new JobID()),
                        1);

        // A task that recovers with execution.checkpointing.during-recovery.enabled: one buffer was in flight.
        producer.setup();
        consumer.setCheckpointingDuringRecoveryEnabled(true);
        consumer.setup();
        consumer.setChannelStateWriter(writer);
        RecoveredInputChannel recovered = (RecoveredInputChannel) consumer.getChannel(0);
        Buffer inFlight = recovered.requestBufferBlocking();
        inFlight.setSize(1024);
        recovered.onRecoveredStateBuffer(inFlight);
        consumer.finishReadRecoveredState();
        consumer.requestPartitions(); // the local channel takes the buffer over

        // The barrier of checkpoint 2 passes the recovered buffer.
        if (newerComesFirst) {
            producer.broadcastEvent(new CheckpointBarrier(2, 0, OPTIONS), true);
            System.out.println("the gate answered " + consumer.pollNext().get().getEvent());
        }

        // Checkpoint 1 starts, too late.
        writer.start(1, OPTIONS);
        try {
            consumer.checkpointStarted(new CheckpointBarrier(1, 0, OPTIONS));
        } catch (CheckpointException refused) { // SingleCheckpointBarrierHandler catches it, and the task goes on
            System.out.println("checkpoint 1 was refused: " + refused.getMessage());
        }

        // The task reads the recovered buffer and the end of recovered state.
        for (Optional<BufferOrEvent> next = consumer.pollNext(); next.isPresent(); next = consumer.pollNext()) {
            if (next.get().isBuffer()) {
                next.get().getBuffer().recycleBuffer();
            }
        }

        // As Task.releaseResources and StreamTask.cleanUp do, for both tasks.
        producer.fail(null);
        producer.close();
        consumer.close();
        writer.close();

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
                                true,
                                InetAddress.getLoopbackAddress(),
                                1,
                                new String[] {System.getProperty("java.io.tmpdir")},
                                (partition, event) -> true,
                                new UnregisteredMetricsGroup(),
                                Runnable::run,
                                null));
    }

    private static ResultPartition partition(
            NettyShuffleEnvironment taskManager, ResultPartitionID id, IntermediateDataSetID dataSet) {
        PartitionDescriptor descriptor =
                new PartitionDescriptor(
                        dataSet,
                        1,
                        id.getPartitionId(),
                        ResultPartitionType.PIPELINED_BOUNDED,
                        1,
                        0,
                        false,
                        false,
                        false);
        return taskManager
                .createResultPartitionWriters(
                        owner(taskManager, "producer"),
                        List.of(new ResultPartitionDeploymentDescriptor(descriptor, shuffle(id), 1)))
                .get(0);
    }

    private static SingleInputGate gate(
            NettyShuffleEnvironment taskManager, ResultPartitionID id, IntermediateDataSetID dataSet)
            throws IOException {
        ShuffleDescriptorAndIndex[] producers = {new ShuffleDescriptorAndIndex(shuffle(id), 0)};
        return taskManager
                .createInputGates(
                        owner(taskManager, "consumer"),
                        (set, partition, handler) -> {},
                        List.of(
                                new InputGateDeploymentDescriptor(
                                        dataSet, ResultPartitionType.PIPELINED_BOUNDED, 0, producers)))
                .get(0);
    }

    private static ShuffleIOOwnerContext owner(NettyShuffleEnvironment taskManager, String name) {
        return taskManager.createShuffleIOOwnerContext(
                name, ExecutionAttemptID.randomId(), new UnregisteredMetricsGroup());
    }

    private static NettyShuffleDescriptor shuffle(ResultPartitionID id) {
        return new NettyShuffleDescriptor(HERE, LocalExecutionPartitionConnectionInfo.INSTANCE, id);
    }
}
