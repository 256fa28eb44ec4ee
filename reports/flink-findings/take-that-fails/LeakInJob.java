import java.io.IOException;
import java.lang.reflect.Field;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.io.network.NettyShuffleEnvironment;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorage;
import org.apache.flink.runtime.state.CheckpointStorageAccess;
import org.apache.flink.runtime.state.CheckpointStorageFactory;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.runtime.state.memory.MemoryBackendCheckpointStorageAccess;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.runtime.taskexecutor.TaskExecutor;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * A whole job, in a cluster with one task manager: the checkpoint storage fails for channel state, failovers lose a
 * network buffer each, and the task manager never gets them back.
 *
 * <p>It must be compiled first, because the task manager loads its classes. Arguments: the number of restarts;
 * "control" if the storage works. Exit status 1: buffers were lost. 0: none was lost.
 */
public final class LeakInJob {

    /** Whether the disk for channel state is full: from the first snapshot of a consumer until the next restart. */
    private static volatile boolean full;

    public static void main(String[] arguments) throws Exception {
        int restarts = Integer.parseInt(arguments[0]);
        boolean storageWorks = arguments.length > 1 && arguments[1].equals("control");
        Configuration configuration = new Configuration();
        configuration.setString("rest.bind-port", "0");
        configuration.setString("taskmanager.memory.network.min", "4 mb");
        configuration.setString("taskmanager.memory.network.max", "4 mb");
        if (!storageWorks) {
            configuration.setString("execution.checkpointing.storage", FailingStorage.class.getName() + "$Factory");
        }
        configuration.setString("execution.checkpointing.interval", "2 s");
        configuration.setString("execution.checkpointing.unaligned.enabled", "true");
        configuration.setString("execution.buffer-timeout.interval", "5 ms");
        configuration.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000000");
        configuration.setString("restart-strategy.type", "fixed-delay");
        configuration.setString("restart-strategy.fixed-delay.attempts", String.valueOf(restarts));
        configuration.setString("restart-strategy.fixed-delay.delay", "100 ms");

        MiniClusterConfiguration cluster =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(configuration)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(2)
                        .build();
        try (MiniCluster flink = new MiniCluster(cluster)) {
            flink.start();
            NetworkBufferPool memory = memory(flink);
            int before = memory.getNumberOfAvailableMemorySegments();
            System.out.println("network buffers before: " + before);
            StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
            job.setParallelism(2);
            job.fromSource(new NumberSequenceSource(1, 200), WatermarkStrategy.noWatermarks(), "numbers")
                    .flatMap(new Producer())
                    .keyBy(record -> record)
                    .map(new Consumer())
                    .sinkTo(new DiscardingSink<>());
            try {
                flink.executeJobBlocking(job.getStreamGraph().getJobGraph());
            } catch (Exception failed) {
                Throwable root = failed;
                while (root.getCause() != null) {
                    root = root.getCause();
                }
                System.out.println("the job failed: " + root);
            }
            while (memory.getNumberOfRegisteredBufferPools() > 0) {
                Thread.sleep(100); // the last tasks are released after the job has ended
            }
            int after = memory.getNumberOfAvailableMemorySegments();
            System.out.println("network buffers after all tasks were released: " + after);
            System.out.println(after == before ? "no buffer was lost" : "LOST: " + (before - after));
            System.exit(after == before ? 0 : 1);
        }
    }

    /** The network buffer pool of the only task manager. A mini cluster has no method that answers it. */
    private static NetworkBufferPool memory(MiniCluster flink) throws ReflectiveOperationException {
        Object taskManager = ((List<?>) field(MiniCluster.class, "taskManagers").get(flink)).get(0);
        Object shuffle = field(TaskExecutor.class, "shuffleEnvironment").get(taskManager);
        return ((NettyShuffleEnvironment) shuffle).getNetworkBufferPool();
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /**
     * The first subtask emits records to both consumers, one at a time. The second is busy with its first number for
     * ten seconds: it emits records to the first consumer all the time, and no barrier.
     */
    public static final class Producer extends RichFlatMapFunction<Long, Integer> {
        private boolean wasBusy;

        @Override
        public void flatMap(Long number, Collector<Integer> output) throws Exception {
            if (getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 1 && !wasBusy) {
                wasBusy = true;
                for (int count = 0; count < 2000; count++) {
                    output.collect(keyOf(0));
                    Thread.sleep(5);
                }
            }
            output.collect(keyOf((int) (number % 2)));
            Thread.sleep(100);
        }
    }

    /** A key of which the records go to this one of two subtasks. */
    private static int keyOf(int subtask) {
        int key = 0;
        while (KeyGroupRangeAssignment.assignKeyToParallelOperator(key, 128, 2) != subtask) {
            key++;
        }
        return key;
    }

    /** The second subtask is slow, so that it starts a checkpoint later than the first. */
    public static final class Consumer extends RichMapFunction<Integer, Integer> implements CheckpointedFunction {
        @Override
        public void initializeState(FunctionInitializationContext context) {
            full = false;
        }

        @Override
        public Integer map(Integer record) throws Exception {
            if (getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 1) {
                Thread.sleep(300);
            }
            return record;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            full = true;
        }
    }

    /** Storage that is full whenever channel state is written; all else goes to the job manager. */
    public static final class FailingStorage implements CheckpointStorage {
        private final JobManagerCheckpointStorage works = new JobManagerCheckpointStorage();

        /** Found by its name. */
        public static final class Factory implements CheckpointStorageFactory<FailingStorage> {
            @Override
            public FailingStorage createFromConfig(ReadableConfig configuration, ClassLoader loader) {
                return new FailingStorage();
            }
        }

        @Override
        public CompletedCheckpointStorageLocation resolveCheckpoint(String pointer) throws IOException {
            return works.resolveCheckpoint(pointer);
        }

        @Override
        public CheckpointStorageAccess createCheckpointStorage(JobID job) throws IOException {
            return new MemoryBackendCheckpointStorageAccess(job, null, null, true, 5 * 1024 * 1024) {
                @Override
                public CheckpointStreamFactory resolveCheckpointStorageLocation(
                        long checkpoint, CheckpointStorageLocationReference reference) {
                    return new FailingStreams();
                }
            };
        }
    }

    private static final class FailingStreams extends MemCheckpointStreamFactory {
        FailingStreams() {
            super(5 * 1024 * 1024);
        }

        @Override
        public CheckpointStateOutputStream createCheckpointStateOutputStream(CheckpointedStateScope scope)
                throws IOException {
            if (!Thread.currentThread().getName().equals("Channel state writer")) {
                return super.createCheckpointStateOutputStream(scope);
            }
            return new Disk();
        }
    }

    private static final class Disk extends CheckpointStateOutputStream {
        private int written;

        @Override
        public void write(int one) throws IOException {
            written++;
            if (full) {
                throw new IOException("No space left on device");
            }
        }

        @Override
        public long getPos() {
            return written;
        }

        @Override
        public StreamStateHandle closeAndGetHandle() throws IOException {
            throw new IOException("No space left on device");
        }

        @Override
        public void flush() {}

        @Override
        public void sync() {}

        @Override
        public void close() {}
    }
}
