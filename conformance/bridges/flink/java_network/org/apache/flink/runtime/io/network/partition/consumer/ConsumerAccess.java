package org.apache.flink.runtime.io.network.partition.consumer;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.flink.core.memory.MemorySegmentProvider;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.io.network.ConnectionID;
import org.apache.flink.runtime.io.network.ConnectionManager;
import org.apache.flink.runtime.io.network.TaskEventPublisher;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.metrics.InputChannelMetrics;
import org.apache.flink.runtime.io.network.partition.Differences;
import org.apache.flink.runtime.io.network.partition.PartitionProducerStateProvider;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.jobgraph.IntermediateResultPartitionID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.throughput.ThroughputCalculator;
import org.apache.flink.types.Either;
import org.apache.flink.util.clock.ManualClock;

/**
 * Calls package-private code of Flink on the consumer's side, and hides the differences between its releases: 2.3.0
 * passes the recovered buffers that are left to a physical channel, 2.2 passes none.
 */
public final class ConsumerAccess {

    private static final int SEGMENT_SIZE = 64; // of the segment into which a gate copies what it reads from a file
    private static final int FIRST_BACKOFF = 1; // in milliseconds, which nothing measures
    private static final int LAST_BACKOFF = 1 << 20; // lets a channel ask again for a partition that is not there yet
    private static final int LISTENER_TIMEOUT = 1; // in milliseconds, as the backoff; 0 lets no channel ask again
    static final TaskEventPublisher NOBODY = (partition, event) -> true;
    private static final ConnectionID CONNECTION = connection();

    private static final Method ENABLE = optional("setCheckpointingDuringRecoveryEnabled", boolean.class);
    private static final Field NEXT_TYPE = field(InputChannel.BufferAndAvailability.class, "nextDataType");
    private static final Field LAST_STOPPED = field(RecoveredInputChannel.class, "lastStoppedCheckpointId");

    private ConsumerAccess() {}

    /** Gets the notifications that a channel sends to its gate. */
    public interface Listener {
        void nonEmpty(InputChannel channel);

        void priorityEvent(InputChannel channel, int sequenceNumber);
    }

    /** Flink's gate, except that it passes notifications on to a listener. For one channel that is tested by itself. */
    private static final class ListeningGate extends SingleInputGate {

        private final Listener listener;
        private boolean isToAskAgain;

        private ListeningGate(BufferPool pool, MemorySegmentProvider segments, Listener listener) {
            super(
                    "conformance",
                    0,
                    Differences.dataSet(new JobVertexID(0, 0), 0),
                    ResultPartitionType.PIPELINED_BOUNDED,
                    1,
                    (dataSet, partition, handler) -> handler.accept(new BothRun()),
                    () -> pool,
                    null,
                    segments,
                    SEGMENT_SIZE,
                    new ThroughputCalculator(new ManualClock()),
                    null);
            this.listener = listener;
        }

        @Override
        void notifyChannelNonEmpty(InputChannel channel) {
            listener.nonEmpty(channel);
        }

        @Override
        void notifyPriorityEvent(InputChannel channel, int sequenceNumber) {
            listener.priorityEvent(channel, sequenceNumber);
        }

        @Override
        void notifyPriorityEventForce(InputChannel channel) {
            listener.priorityEvent(channel, -1);
        }

        /** Asks later: the next request of the scenario is the one that is made here, or by a timer. */
        @Override
        public void retriggerPartitionRequest(IntermediateResultPartitionID partition, InputChannelInfo channel) {
            isToAskAgain = true;
        }
    }

    /** The job master's answer to a channel whose partition is not there yet: the producer runs, and so does the task. */
    private static final class BothRun implements PartitionProducerStateProvider.ResponseHandle {

        @Override
        public ExecutionState getConsumerExecutionState() {
            return ExecutionState.RUNNING;
        }

        @Override
        public Either<ExecutionState, Throwable> getProducerExecutionState() {
            return Either.Left(ExecutionState.RUNNING);
        }

        @Override
        public void cancelConsumption() {
            throw new AssertionError("a running producer cancels no consumer");
        }

        @Override
        public void failConsumption(Throwable cause) {
            throw new AssertionError("a running producer fails no consumer", cause);
        }
    }

    /** A gate around one channel, which passes the notifications of the channel on to {@code listener}. */
    public static SingleInputGate listening(BufferPool pool, MemorySegmentProvider segments, Listener listener) {
        SingleInputGate gate = new ListeningGate(pool, segments, listener);
        gate.setBufferPool(pool);
        return gate;
    }

    /** Is notified of what happens at a gate. */
    public interface Watcher {
        /** The reader takes this, and does not have it yet. */
        default void taken(BufferOrEvent element) {}

        /** The end of the recovered state is about to be handed to all channels. */
        default void endsRecovery() throws IOException {}

        /** The channels were converted, and their subpartitions requested. */
        default void converted() {}
    }

    /** Flink's gate. */
    public static SingleInputGate gate(
            int index, int channels, BufferPool pool, MemorySegmentProvider segments, Watcher watcher) {
        SingleInputGate gate =
                new SingleInputGate(
                        "conformance",
                        index,
                        Differences.dataSet(new JobVertexID(0, 0), index),
                        ResultPartitionType.PIPELINED_BOUNDED,
                        channels,
                        (dataSet, partition, handler) -> {},
                        () -> pool,
                        null,
                        segments,
                        SEGMENT_SIZE,
                        new ThroughputCalculator(new ManualClock()),
                        null) {
                    @Override
                    public Optional<BufferOrEvent> pollNext() throws IOException, InterruptedException {
                        Optional<BufferOrEvent> next = super.pollNext();
                        next.ifPresent(watcher::taken);
                        return next;
                    }

                    @Override
                    public void finishReadRecoveredState() throws IOException {
                        watcher.endsRecovery();
                        super.finishReadRecoveredState();
                    }

                    @Override
                    public void requestPartitions() {
                        super.requestPartitions();
                        watcher.converted();
                    }
                };
        gate.setBufferPool(pool);
        return gate;
    }

    /** Whether this release can take checkpoints while channels recover. */
    public static boolean canCheckpointDuringRecovery() {
        return ENABLE != null;
    }

    public static void enableCheckpointingDuringRecovery(SingleInputGate gate) {
        invoke(ENABLE, gate, true);
    }

    // ---- channels --------------------------------------------------------------------------------------------------

    /** {@code writer}: null if the gate is given one later, as a task does. */
    public static RecoveredInputChannel recoveredLocal(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ResultPartitionManager partitions,
            int exclusiveBuffers,
            ChannelStateWriter writer) {
        RecoveredInputChannel channel =
                new LocalRecoveredInputChannel(
                        gate,
                        index,
                        partition,
                        new ResultSubpartitionIndexSet(index),
                        partitions,
                        NOBODY,
                        FIRST_BACKOFF,
                        LAST_BACKOFF,
                        exclusiveBuffers,
                        new InputChannelMetrics(new UnregisteredMetricsGroup()));
        if (writer != null) {
            channel.setChannelStateWriter(writer);
        }
        return channel;
    }

    public static RecoveredInputChannel recoveredRemote(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ConnectionManager network,
            int exclusiveBuffers,
            ChannelStateWriter writer) {
        RecoveredInputChannel channel =
                new RemoteRecoveredInputChannel(
                        gate,
                        index,
                        partition,
                        new ResultSubpartitionIndexSet(index),
                        CONNECTION,
                        network,
                        FIRST_BACKOFF,
                        LAST_BACKOFF,
                        LISTENER_TIMEOUT,
                        exclusiveBuffers,
                        new InputChannelMetrics(new UnregisteredMetricsGroup()));
        channel.setChannelStateWriter(writer);
        return channel;
    }

    public static LocalInputChannel local(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ResultPartitionManager partitions,
            ChannelStateWriter writer) {
        return make(
                LocalInputChannel.class,
                gate,
                index,
                partition,
                new ResultSubpartitionIndexSet(index),
                partitions,
                NOBODY,
                FIRST_BACKOFF,
                LAST_BACKOFF,
                counter(),
                counter(),
                writer);
    }

    public static RemoteInputChannel remote(
            SingleInputGate gate,
            int index,
            ResultPartitionID partition,
            ConnectionManager network,
            int exclusiveBuffers,
            ChannelStateWriter writer)
            throws IOException {
        RemoteInputChannel channel =
                make(
                        RemoteInputChannel.class,
                        gate,
                        index,
                        partition,
                        new ResultSubpartitionIndexSet(index),
                        CONNECTION,
                        network,
                        FIRST_BACKOFF,
                        LAST_BACKOFF,
                        LISTENER_TIMEOUT,
                        exclusiveBuffers,
                        counter(),
                        counter(),
                        writer);
        channel.setup();
        return channel;
    }

    public static void request(InputChannel channel) throws IOException, InterruptedException {
        channel.requestSubpartitions();
    }

    /** Requests, or, if the gate was to ask again since the last request, does what the gate does then. */
    public static void requestOrAgain(SingleInputGate gate, RemoteInputChannel channel)
            throws IOException, InterruptedException {
        ListeningGate listening = (ListeningGate) gate;
        if (listening.isToAskAgain) {
            listening.isToAskAgain = false;
            channel.retriggerSubpartitionRequest();
        } else {
            channel.requestSubpartitions();
        }
    }

    /** Does what the gate does when it replaces a recovered channel. */
    public static InputChannel convert(RecoveredInputChannel channel) throws IOException {
        InputChannel physical = channel.toInputChannel();
        channel.releaseAllResources();
        return physical;
    }

    /** Runs this in the thread that takes the end of the recovered state. */
    public static void whenStateIsConsumed(RecoveredInputChannel channel, Runnable told) {
        channel.getStateConsumedFuture().thenRun(told);
    }

    public static boolean stateIsConsumed(RecoveredInputChannel channel) {
        return channel.getStateConsumedFuture().isDone();
    }

    /** The id of the checkpoint that was stopped last, -1 if none was. */
    public static long lastStopped(RecoveredInputChannel channel) {
        return (Long) get(LAST_STOPPED, channel);
    }

    public static int buffersInUse(InputChannel channel) {
        return channel.getBuffersInUseCount();
    }

    /** Whether a local channel has a view of its subpartition. */
    public static boolean listens(InputChannel channel) {
        return channel instanceof LocalInputChannel && ((LocalInputChannel) channel).getSubpartitionView() != null;
    }

    public static boolean isReleased(InputChannel channel) {
        return channel.isReleased();
    }

    public static void release(InputChannel channel) throws IOException {
        channel.releaseAllResources();
    }

    /** The next data type, as the channel gives it to its gate. */
    public static Buffer.DataType nextType(InputChannel.BufferAndAvailability taken) {
        return (Buffer.DataType) get(NEXT_TYPE, taken);
    }

    public static boolean isEndOfRecoveredState(Object event) {
        return Differences.endsInputState(event);
    }

    // ---- reflection ------------------------------------------------------------------------------------------------

    /** Calls the only public constructor. Its additional argument in 2.3.0 is the queue of buffers left to consume. */
    private static <T> T make(Class<T> type, Object... arguments) {
        try {
            Constructor<?> constructor =
                    Arrays.stream(type.getConstructors())
                            .filter(one -> one.getParameterCount() >= arguments.length)
                            .findFirst()
                            .orElseThrow();
            Object[] all = Arrays.copyOf(arguments, constructor.getParameterCount());
            if (all.length > arguments.length) {
                all[arguments.length] = new ArrayDeque<Buffer>();
            }
            return type.cast(constructor.newInstance(all));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("Flink's " + type.getSimpleName() + " has another constructor", error);
        }
    }

    private static Method optional(String name, Class<?>... parameters) {
        try {
            return SingleInputGate.class.getMethod(name, parameters);
        } catch (NoSuchMethodException missing) {
            return null;
        }
    }

    private static Object invoke(Method method, Object target, Object... arguments) {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException missing) {
            throw new IllegalStateException("Flink's " + type.getSimpleName() + " has no field " + name, missing);
        }
    }

    private static Object get(Field field, Object target) {
        try {
            return field.get(target);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Counter counter() {
        return new SimpleCounter();
    }

    private static ConnectionID connection() {
        return new ConnectionID(
                new org.apache.flink.runtime.clusterframework.types.ResourceID("elsewhere"),
                java.net.InetSocketAddress.createUnresolved("elsewhere", 1),
                0);
    }
}
