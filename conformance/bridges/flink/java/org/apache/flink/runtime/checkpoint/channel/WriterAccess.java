package org.apache.flink.runtime.checkpoint.channel;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;

/**
 * The channel state writers of subtasks, and the executors that they share. The threads of the executors are Flink's,
 * but each executes a request only when it is asked to.
 *
 * <p>An executor takes its requests from a queue that this class puts into it before it starts. The queue says that it
 * is empty, until the next request is asked for. So requests are executed in the order that the executor gives them.
 */
public final class WriterAccess {

    private static final JobVertexID VERTEX = new JobVertexID(0, 0);

    private final ChannelStateWriteRequestExecutorFactory factory =
            new ChannelStateWriteRequestExecutorFactory(new JobID(0, 0));
    private final List<Stepped> executors = new ArrayList<>();
    private final CheckpointStorageWorkerView storage;
    private final int sharing;
    private final int maxResults;

    public WriterAccess(CheckpointStorageWorkerView storage, int sharing, int maxResults) {
        this.storage = storage;
        this.sharing = sharing;
        this.maxResults = maxResults;
    }

    /** A subtask that is deployed, with the executor that Flink has given it. */
    public Subtask register(int index) {
        ChannelStateWriteRequestExecutorImpl executor =
                (ChannelStateWriteRequestExecutorImpl)
                        factory.getOrCreateExecutor(VERTEX, index, () -> storage, sharing, false);
        for (Stepped known : executors) {
            if (known.executor == executor) {
                return new Subtask(index, known);
            }
        }
        Stepped made = new Stepped(executor);
        executors.add(made);
        return new Subtask(index, made);
    }

    /** The subtasks of each executor whose thread runs. */
    public List<List<Integer>> running() {
        List<List<Integer>> all = new ArrayList<>();
        for (Stepped executor : executors) {
            if (executor.executor.getThread().isAlive()) {
                all.add(executor.users());
            }
        }
        return all;
    }

    /** The writer of a subtask. */
    public final class Subtask {

        public final ChannelStateWriterImpl writer;
        private final Stepped executor;

        private Subtask(int index, Stepped executor) {
            this.executor = executor;
            writer =
                    new ChannelStateWriterImpl(
                            VERTEX, "task", index, new ConcurrentHashMap<>(), executor.executor, maxResults);
        }

        /** The subtasks that use the executor of this one. */
        public List<Integer> users() {
            return executor.users();
        }

        /**
         * Lets the executor execute its next request, besides requests of subtasks that have registered. Returns it; null
         * if none is ready or the thread has ended. Throws what has ended the thread of the executor.
         */
        public Executed execute() throws Exception {
            ChannelStateWriteRequest request;
            do {
                request = executor.step();
            } while (request instanceof SubtaskRegisterRequest);
            return request == null ? null : new Executed(request);
        }
    }

    /** A request that was executed. */
    public static final class Executed {

        public final int subtask;
        public final long checkpoint;
        public final String kind;

        private Executed(ChannelStateWriteRequest request) {
            subtask = request.getSubtaskIndex();
            kind = kind(request);
            checkpoint = kind.equals("close") ? 0 : request.getCheckpointId();
        }

        private static String kind(ChannelStateWriteRequest request) {
            if (request instanceof CheckpointStartRequest) {
                return "start";
            }
            if (request instanceof CheckpointAbortRequest) {
                return "abort";
            }
            if (request instanceof SubtaskReleaseRequest) {
                return "close";
            }
            String name = (String) get(ChannelStateWriteRequest.class, "name", request);
            switch (name) {
                case "completeInput":
                    return "finish-input";
                case "completeOutput":
                    return "finish-output";
                case "writeInput":
                    return "input";
                default: // writeOutput, writeOutputFuture
                    return "output";
            }
        }
    }

    /** An executor and what its thread may do. */
    private static final class Stepped {

        private final ChannelStateWriteRequestExecutorImpl executor;
        private final Object lock; // of the executor; it guards all that follows
        private final Queue queue;

        private Stepped(ChannelStateWriteRequestExecutorImpl executor) {
            this.executor = executor;
            lock = get(ChannelStateWriteRequestExecutorImpl.class, "lock", executor);
            queue = new Queue((Deque<?>) get(ChannelStateWriteRequestExecutorImpl.class, "deque", executor), lock);
            set(ChannelStateWriteRequestExecutorImpl.class, "deque", executor, queue);
            executor.start();
        }

        private List<Integer> users() {
            List<Integer> found = new ArrayList<>();
            synchronized (lock) {
                Collection<?> subtasks =
                        (Collection<?>) get(ChannelStateWriteRequestExecutorImpl.class, "subtasks", executor);
                subtasks.forEach(one -> found.add(((SubtaskID) one).getSubtaskIndex()));
            }
            found.sort(null);
            return found;
        }

        private ChannelStateWriteRequest step() throws Exception {
            synchronized (lock) {
                queue.isAllowed = true;
                queue.isIdle = false;
                queue.taken = null;
                lock.notifyAll();
                while (!queue.isIdle && executor.getThread().isAlive()) {
                    lock.wait(1); // nobody notifies of a thread that ends
                }
                Exception thrown = (Exception) get(ChannelStateWriteRequestExecutorImpl.class, "thrown", executor);
                if (queue.taken != null && thrown != null) {
                    throw thrown; // it has ended the thread
                }
                return queue.taken;
            }
        }
    }

    /** Returns one request for each step. */
    private static final class Queue extends ArrayDeque<ChannelStateWriteRequest> {

        private static final long serialVersionUID = 1L;

        private final transient Object lock;
        private boolean isAllowed;
        private boolean isIdle;
        private transient ChannelStateWriteRequest taken;

        private Queue(Collection<?> queued, Object lock) {
            this.lock = lock;
            queued.forEach(one -> add((ChannelStateWriteRequest) one));
        }

        /** Called by the thread of the executor, which holds the lock, and waits if it gets null. */
        @Override
        public ChannelStateWriteRequest pollFirst() {
            if (isAllowed && !isEmpty()) {
                isAllowed = false;
                taken = super.pollFirst();
                return taken;
            }
            isAllowed = false;
            isIdle = true;
            lock.notifyAll();
            return null;
        }
    }

    private static Object get(Class<?> type, String field, Object of) {
        try {
            return accessible(type, field).get(of);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    private static void set(Class<?> type, String field, Object of, Object value) {
        try {
            accessible(type, field).set(of, value);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error);
        }
    }

    private static Field accessible(Class<?> type, String field) throws NoSuchFieldException {
        Field found = type.getDeclaredField(field);
        found.setAccessible(true);
        return found;
    }
}
