package org.apache.flink.streaming.runtime.tasks;

import conformance.flink.TurnThread;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.io.network.api.writer.RecordWriter;
import org.apache.flink.runtime.io.network.api.writer.RecordWriterBuilder;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.runtime.io.RecordWriterOutput;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.DelayableTimer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.function.BiFunctionWithException;

/** Calls code of Flink that only its own package may call: the subtask checkpoint coordinator and the operator chain. */
public final class SubtaskAccess {

    /** How many aborted checkpoints are remembered, as in {@code StreamTask}. */
    private static final int ABORTED = 10;

    private SubtaskAccess() {}

    /** A chain of one operator, with one output. */
    public static OperatorChain<Integer, ?> chain(
            StreamOperator<Integer> operator, ResultPartitionWriter partition, MailboxExecutor mailbox) {
        RecordWriter<SerializationDelegate<StreamRecord<Integer>>> writer =
                new RecordWriterBuilder<SerializationDelegate<StreamRecord<Integer>>>().build(partition);
        RecordWriterOutput<Integer> output = new RecordWriterOutput<>(writer, IntSerializer.INSTANCE, null, true);
        StreamOperatorWrapper<Integer, StreamOperator<Integer>> wrapper =
                new StreamOperatorWrapper<>(operator, Optional.empty(), mailbox, true);
        return new RegularOperatorChain<>(List.of(wrapper), new RecordWriterOutput<?>[] {output}, output, wrapper);
    }

    /** A coordinator whose asynchronous parts run in these threads, and whose time is that of the clock. */
    public static SubtaskCheckpointCoordinator coordinator(
            Environment environment,
            CheckpointStorageWorkerView storage,
            ChannelStateWriter writer,
            BiFunctionWithException<ChannelStateWriter, Long, CompletableFuture<Void>, CheckpointException> inputs,
            Parts parts,
            DelayableTimer timers,
            Clock clock) {
        SubtaskCheckpointCoordinatorImpl made =
                new SubtaskCheckpointCoordinatorImpl(
                        storage,
                        "task",
                        StreamTaskActionExecutor.IMMEDIATE,
                        parts,
                        environment,
                        (message, error) -> {
                            throw new AssertionError(message, error);
                        },
                        inputs,
                        ABORTED,
                        writer,
                        true,
                        timers);
        try {
            Field field = SubtaskCheckpointCoordinatorImpl.class.getDeclaredField("clock");
            field.setAccessible(true);
            field.set(made, clock);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
        return made;
    }

    /** How many asynchronous parts the coordinator holds. */
    public static int held(SubtaskCheckpointCoordinator coordinator) {
        return ((SubtaskCheckpointCoordinatorImpl) coordinator).getAsyncCheckpointRunnableSize();
    }

    /**
     * The thread pool of a task. Each asynchronous part has a thread that runs when it is asked to. What cancels one is
     * executed at once, as if another thread of the pool had been idle.
     */
    public static final class Parts extends AbstractExecutorService {

        private final Map<Long, TurnThread> threads = new HashMap<>();
        private boolean isShutdown;

        /** Lets the asynchronous part of a checkpoint go on as far as it can, if there is one. */
        public void run(long checkpoint) throws InterruptedException {
            TurnThread thread = threads.get(checkpoint);
            if (thread != null) {
                thread.run();
            }
        }

        /** Lets all of them go on. */
        public void runAll() throws InterruptedException {
            for (TurnThread thread : threads.values()) {
                thread.run();
            }
        }

        @Override
        public void execute(Runnable task) {
            if (isShutdown) {
                throw new RejectedExecutionException("the thread pool of the task was shut down");
            }
            if (task instanceof AsyncCheckpointRunnable) {
                threads.put(((AsyncCheckpointRunnable) task).getCheckpointId(), new TurnThread(task, "asynchronous part of a checkpoint"));
            } else {
                task.run();
            }
        }

        @Override
        public void shutdown() {
            isShutdown = true;
        }

        /** Interrupts none: a part that has begun goes on when it is asked to. */
        @Override
        public List<Runnable> shutdownNow() {
            isShutdown = true;
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return isShutdown;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
