import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
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
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.LocalExecutionPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.PartitionDescriptor;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStateToolset;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.memory.MemoryBackendCheckpointStorageAccess;

/**
 * A take of a local input channel fails with the channel state writer, and a network buffer is lost for ever.
 *
 * <p>Everything is Flink's: the shuffle environment of a task manager, a result partition, a gate with one local
 * channel, and the channel state writers of two subtasks that share one file. Only the checkpoint storage
 * fails. Exit status 1: a buffer was lost. 0: none was lost. With the argument "control" the storage works.
 */
public final class Leak {

    private static final long CHECKPOINT = 1;
    private static final CheckpointOptions OPTIONS =
            CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault());

    private static final ResourceID HERE = ResourceID.generate();
    private static final JobVertexID CONSUMER = new JobVertexID();

    public static void main(String[] arguments) throws Exception {
        boolean storageWorks = arguments.length > 0 && arguments[0].equals("control");
        NettyShuffleEnvironment taskManager = shuffleEnvironment();
        taskManager.start();
        NetworkBufferPool memory = taskManager.getNetworkBufferPool();
        int before = memory.getNumberOfAvailableMemorySegments();
        System.out.println("network buffers before: " + before + " of " + memory.getTotalNumberOfMemorySegments());

        ResultPartitionID id = new ResultPartitionID();
        IntermediateDataSetID dataSet = new IntermediateDataSetID();
        ResultPartition producer = partition(taskManager, id, dataSet);
        SingleInputGate consumer = gate(taskManager, id, dataSet);

        // As StreamTask makes them: the subtasks of a task manager share a channel state file, five by default.
        CheckpointStorageWorkerView storage = storage(storageWorks);
        ChannelStateWriteRequestExecutorFactory shared = new ChannelStateWriteRequestExecutorFactory(new JobID());
        ChannelStateWriter writer = new ChannelStateWriterImpl(CONSUMER, "consumer", 0, () -> storage, shared, 2);
        ChannelStateWriter sibling = new ChannelStateWriterImpl(CONSUMER, "consumer", 1, () -> storage, shared, 2);

        producer.setup();
        consumer.setup();
        consumer.setChannelStateWriter(writer);
        consumer.finishReadRecoveredState();
        consumer.pollNext(); // the end of recovered state, which is empty
        consumer.requestPartitions();

        // An unaligned checkpoint starts in the consumer. The barrier of this channel has not come yet.
        writer.start(CHECKPOINT, OPTIONS);
        consumer.checkpointStarted(new CheckpointBarrier(CHECKPOINT, 0, OPTIONS));

        emit(producer);
        take(consumer); // the buffer belongs to the checkpoint, so the channel hands a copy to the writer
        if (!storageWorks) {
            waitUntilFailed(writer);
        }

        // The other subtask starts the same checkpoint, a little later. If the shared file has failed, the thread of
        // the shared executor ends with "The write is done".
        sibling.start(CHECKPOINT, OPTIONS);
        if (!storageWorks) {
            executorThread().join();
        }

        emit(producer);
        Exception failure = null;
        try {
            take(consumer);
        } catch (Exception failed) { // StreamTask catches it, and the task fails
            failure = failed;
            System.out.println("the second take failed: " + failed + ", caused by " + failed.getCause());
        }

        // As Task.releaseResources and StreamTask.cleanUp do, for both tasks.
        producer.fail(failure);
        producer.close();
        consumer.close();
        closeQuietly(writer);
        closeQuietly(sibling);

        int after = memory.getNumberOfAvailableMemorySegments();
        System.out.println("buffer pools that are left: " + memory.getNumberOfRegisteredBufferPools());
        System.out.println("network buffers after all tasks were released: " + after);
        System.out.println(after == before ? "no buffer was lost" : "LOST: " + (before - after));
        System.exit(after == before ? 0 : 1);
    }

    private static void emit(ResultPartition producer) throws IOException {
        producer.emitRecord(ByteBuffer.wrap(new byte[1024]), 0);
        producer.flushAll();
    }

    /** Takes a buffer and recycles it, as the deserializer of a task does. */
    private static void take(SingleInputGate consumer) throws IOException, InterruptedException {
        Optional<BufferOrEvent> next = consumer.pollNext();
        if (!next.isPresent() || !next.get().isBuffer()) {
            throw new AssertionError("a buffer is there, but the gate answered " + next);
        }
        next.get().getBuffer().recycleBuffer();
    }

    /** Waits until the executor has found out that the storage fails. */
    private static void waitUntilFailed(ChannelStateWriter writer) throws InterruptedException {
        try {
            writer.getAndRemoveWriteResult(CHECKPOINT).getInputChannelStateHandles().get();
            throw new AssertionError("the storage did not fail");
        } catch (ExecutionException failed) {
            System.out.println("the shared channel state file failed: " + failed.getCause());
        }
    }

    private static Thread executorThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("Channel state writer"))
                .findAny()
                .orElse(new Thread()); // it has ended already
    }

    private static void closeQuietly(ChannelStateWriter writer) {
        try {
            writer.close();
        } catch (Exception failed) {
            System.out.println("closing a channel state writer failed: " + failed);
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

    /** Flink's storage in memory or, if it is to fail, in files, with a file where its folder should be. */
    private static CheckpointStorageWorkerView storage(boolean works) throws IOException {
        MemoryBackendCheckpointStorageAccess inMemory =
                new MemoryBackendCheckpointStorageAccess(new JobID(), null, null, true, 1024 * 1024);
        if (works) {
            return inMemory;
        }
        File file = File.createTempFile("leak", null);
        file.deleteOnExit();
        Path folder = new Path(new Path(file.toURI()), "chk-1");
        CheckpointStreamFactory streams =
                new FsCheckpointStreamFactory(LocalFileSystem.getSharedInstance(), folder, folder, 0, 64);
        return new CheckpointStorageWorkerView() {
            @Override
            public CheckpointStreamFactory resolveCheckpointStorageLocation(
                    long checkpoint, CheckpointStorageLocationReference reference) {
                return streams;
            }

            @Override
            public CheckpointStateOutputStream createTaskOwnedStateStream() {
                return inMemory.createTaskOwnedStateStream();
            }

            @Override
            public CheckpointStateToolset createTaskOwnedCheckpointStateToolset() {
                return inMemory.createTaskOwnedCheckpointStateToolset();
            }
        };
    }
}
