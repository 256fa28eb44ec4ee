import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.deployment.InputGateDeploymentDescriptor;
import org.apache.flink.runtime.deployment.ResultPartitionDeploymentDescriptor;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.ShuffleDescriptorAndIndex;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.NettyShuffleServiceFactory;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.ChannelStateHolder;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointableTask;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor;
import org.apache.flink.runtime.shuffle.NettyShuffleDescriptor.NetworkPartitionConnectionInfo;
import org.apache.flink.runtime.shuffle.PartitionDescriptor;
import org.apache.flink.runtime.shuffle.ShuffleEnvironmentContext;
import org.apache.flink.runtime.shuffle.ShuffleIOOwnerContext;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointedInputGate;
import org.apache.flink.streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinator;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxExecutorImpl;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;
import org.apache.flink.util.clock.SystemClock;

/**
 * A checkpoint is aborted, and a channel of a task that has nothing to do with it any more stays blocked until the next
 * checkpoint.
 *
 * <p>Everything is Flink's: the shuffle environments of two task managers and the network between them, two result
 * partitions, a gate with two remote channels, the barrier handler, the mailbox. Only the task is left out: it would be
 * asked to take its part of a checkpoint or to decline it, and this program prints that. Exit status 1: the channel
 * stayed blocked. 0: it did not. With the argument "control" the barrier is announced after the cancel marker came.
 */
public final class Stall {

    private static final long HOUR = 3_600_000; // after which the alignment would time out
    private static final long SECONDS = 2; // that the program waits for what does not come

    private static final ResourceID PRODUCER = ResourceID.generate();
    private static final ResourceID CONSUMER = ResourceID.generate();

    public static void main(String[] arguments) throws Exception {
        boolean isAnnouncedFirst = arguments.length == 0 || !arguments[0].equals("control");
        NettyShuffleEnvironment producing = shuffleEnvironment(PRODUCER);
        NettyShuffleEnvironment consuming = shuffleEnvironment(CONSUMER);
        int port = producing.start();
        consuming.start();

        IntermediateDataSetID dataSet = new IntermediateDataSetID();
        NettyShuffleDescriptor[] shuffles = {shuffle(port), shuffle(port)};
        ResultPartition late = partition(producing, shuffles[0], dataSet); // does not take part in checkpoint 1
        ResultPartition other = partition(producing, shuffles[1], dataSet);
        SingleInputGate gate = gate(consuming, shuffles, dataSet);
        for (ResultPartition partition : List.of(late, other)) {
            partition.setup();
            ((ChannelStateHolder) partition).setChannelStateWriter(ChannelStateWriter.NO_OP);
        }
        gate.setup();
        gate.setChannelStateWriter(ChannelStateWriter.NO_OP);
        gate.finishReadRecoveredState();

        TaskMailboxImpl mailbox = new TaskMailboxImpl();
        MailboxExecutorImpl mails = new MailboxExecutorImpl(mailbox, 0, StreamTaskActionExecutor.IMMEDIATE);
        CheckpointedInputGate reader =
                new CheckpointedInputGate(
                        gate,
                        SingleCheckpointBarrierHandler.alternating(
                                "consumer",
                                printing(CheckpointableTask.class),
                                printing(SubtaskCheckpointCoordinator.class),
                                SystemClock.getInstance(),
                                2,
                                (action, delay) -> () -> {}, // the time of an alignment is never over here
                                true,
                                gate),
                        mails);
        gate.pollNext(); // the end of the recovered state, of which there is none
        gate.pollNext();
        gate.requestPartitions();

        // The barrier of checkpoint 1 waits behind a record, and overtakes it with its announcement. The other producer
        // learns that checkpoint 1 is aborted before its own barrier: see SubtaskCheckpointCoordinatorImpl.
        if (isAnnouncedFirst) {
            sendBarrier(other);
            while (!mailbox.hasMail()) {
                Thread.sleep(1);
            }
            while (mails.tryYield()) {} // takes the announcement and no more, as between two records
            int queued = gate.getNumberOfQueuedBuffers();
            late.broadcastEvent(new CancelCheckpointMarker(1), false);
            late.flushAll();
            while (gate.getNumberOfQueuedBuffers() == queued) {
                Thread.sleep(1);
            }
        } else {
            late.broadcastEvent(new CancelCheckpointMarker(1), false);
            late.flushAll();
            print(reader, mails);
            sendBarrier(other);
        }
        other.emitRecord(ByteBuffer.wrap(new byte[] {'B'}), 0);
        other.flushAll();
        boolean flows = print(reader, mails).contains("B");
        System.out.println(flows ? "the channel goes on" : "STALLED: the record behind the barrier does not come");

        if (!flows) {
            late.broadcastEvent(barrier(2), false);
            late.flushAll();
            System.out.println("checkpoint 2 begins");
            print(reader, mails);
        }
        System.exit(flows ? 0 : 1);
    }

    private static void sendBarrier(ResultPartition partition) throws IOException {
        partition.emitRecord(ByteBuffer.wrap(new byte[] {'A'}), 0);
        partition.broadcastEvent(barrier(1), false);
        partition.flushAll();
    }

    private static CheckpointBarrier barrier(long checkpoint) {
        return new CheckpointBarrier(
                checkpoint,
                System.currentTimeMillis(),
                CheckpointOptions.alignedWithTimeout(
                        CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault(), HOUR));
    }

    /** Reads what comes until nothing has come for some time, and prints and returns it. */
    private static String print(CheckpointedInputGate reader, MailboxExecutorImpl mails) throws Exception {
        StringBuilder records = new StringBuilder();
        for (long end = System.nanoTime() + SECONDS * 1_000_000_000; System.nanoTime() < end; ) {
            while (mails.tryYield()) {}
            Optional<BufferOrEvent> next = reader.pollNext();
            if (!next.isPresent()) {
                Thread.sleep(1);
            } else if (next.get().isBuffer()) {
                Buffer buffer = next.get().getBuffer();
                for (ByteBuffer bytes = buffer.getNioBufferReadable(); bytes.hasRemaining(); ) {
                    char record = (char) bytes.get();
                    records.append(record);
                    System.out.println("record " + record);
                }
                buffer.recycleBuffer();
            } else {
                System.out.println(next.get().getEvent().getClass().getSimpleName());
            }
        }
        return records.toString();
    }

    /** A task, or its checkpoint coordinator, that prints what the barrier handler asks it to do. */
    private static <T> T printing(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        Stall.class.getClassLoader(),
                        new Class<?>[] {type},
                        (self, method, operands) -> {
                            String reason = operands[1] instanceof CheckpointException ? " " + operands[0] : "";
                            System.out.println("the task: " + method.getName() + reason);
                            return null;
                        }));
    }

    // ---- what a task manager makes ----------------------------------------------------------------------------------

    private static NettyShuffleEnvironment shuffleEnvironment(ResourceID taskManager) throws IOException {
        return new NettyShuffleServiceFactory()
                .createShuffleEnvironment(
                        new ShuffleEnvironmentContext(
                                new Configuration(),
                                taskManager,
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
            NettyShuffleEnvironment taskManager, NettyShuffleDescriptor shuffle, IntermediateDataSetID dataSet) {
        PartitionDescriptor descriptor =
                new PartitionDescriptor(
                        dataSet,
                        2,
                        shuffle.getResultPartitionID().getPartitionId(),
                        ResultPartitionType.PIPELINED_BOUNDED,
                        1,
                        0,
                        false,
                        false,
                        false);
        return taskManager
                .createResultPartitionWriters(
                        owner(taskManager, "producer"),
                        List.of(new ResultPartitionDeploymentDescriptor(descriptor, shuffle, 1)))
                .get(0);
    }

    private static SingleInputGate gate(
            NettyShuffleEnvironment taskManager, NettyShuffleDescriptor[] shuffles, IntermediateDataSetID dataSet)
            throws IOException {
        ShuffleDescriptorAndIndex[] producers = {
            new ShuffleDescriptorAndIndex(shuffles[0], 0), new ShuffleDescriptorAndIndex(shuffles[1], 1)
        };
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

    private static NettyShuffleDescriptor shuffle(int port) {
        return new NettyShuffleDescriptor(
                PRODUCER,
                new NetworkPartitionConnectionInfo(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0),
                new ResultPartitionID());
    }
}
