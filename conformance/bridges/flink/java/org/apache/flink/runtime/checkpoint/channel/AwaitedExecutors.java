package org.apache.flink.runtime.checkpoint.channel;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Deque;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.util.function.SupplierWithException;

/**
 * Gives one task its channel state writer's executor, and waits for it, so that what it writes and gives back does not
 * depend on how fast its thread is.
 */
public final class AwaitedExecutors extends ChannelStateWriteRequestExecutorFactory {

    private static final Field LOCK = field("lock");
    private static final Field DEQUE = field("deque");

    private ChannelStateWriteRequestExecutorImpl executor; // null before the task asks for it

    public AwaitedExecutors(JobID job) {
        super(job);
    }

    @Override
    public ChannelStateWriteRequestExecutor getOrCreateExecutor(
            JobVertexID vertex,
            int subtask,
            SupplierWithException<CheckpointStorageWorkerView, ? extends IOException> storage,
            int sharing) {
        ChannelStateWriteRequestExecutor made = super.getOrCreateExecutor(vertex, subtask, storage, sharing);
        executor = (ChannelStateWriteRequestExecutorImpl) made;
        return made;
    }

    /** Waits until the executor has executed all that it can. */
    public void await() throws InterruptedException {
        while (executor != null && !isIdle()) {
            Thread.sleep(0, 100_000);
        }
    }

    /** With the lock of the executor, its thread waits if and only if it has found nothing to execute. */
    private boolean isIdle() {
        try {
            synchronized (LOCK.get(executor)) {
                Thread.State state = executor.getThread().getState();
                return state == Thread.State.TERMINATED
                        || state == Thread.State.WAITING && ((Deque<?>) DEQUE.get(executor)).isEmpty();
            }
        } catch (IllegalAccessException error) {
            throw new AssertionError(error);
        }
    }

    private static Field field(String name) {
        try {
            Field found = ChannelStateWriteRequestExecutorImpl.class.getDeclaredField(name);
            found.setAccessible(true);
            return found;
        } catch (NoSuchFieldException error) {
            throw new AssertionError(error);
        }
    }
}
