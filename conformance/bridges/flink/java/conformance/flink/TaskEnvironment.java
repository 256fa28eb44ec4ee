package conformance.flink;

import java.util.Map;
import java.util.Optional;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.TaskInfoImpl;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriteRequestExecutorFactory;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.SequentialChannelStateReader;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.io.disk.iomanager.IOManager;
import org.apache.flink.runtime.io.disk.iomanager.IOManagerAsync;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.runtime.io.network.partition.consumer.IndexedInputGate;
import org.apache.flink.runtime.jobgraph.JobType;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.tasks.TaskOperatorEventGateway;
import org.apache.flink.runtime.metrics.groups.TaskMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.TaskStateManager;
import org.apache.flink.runtime.taskmanager.TaskManagerActions;
import org.apache.flink.runtime.taskmanager.TaskManagerRuntimeInfo;
import org.apache.flink.streaming.runtime.tasks.SteppedTask;
import org.apache.flink.util.SimpleUserCodeClassLoader;

/** What a task manager gives a task: settings, gates, a partition, recovered state. The deployment hears its calls. */
final class TaskEnvironment {

    static final JobID JOB = new JobID(0, 0);
    private static final JobVertexID VERTEX = new JobVertexID(0, 0);
    /** Only its directories are asked for. A task manager has at least one. */
    private static final IOManager DIRECTORIES = directories();

    private TaskEnvironment() {}

    static Environment of(
            DeployedTask task,
            Configuration job,
            IndexedInputGate[] gates,
            ResultPartitionWriter partition,
            SequentialChannelStateReader reader,
            ChannelStateWriteRequestExecutorFactory executors) {
        TaskMetricGroup metrics = UnregisteredMetricGroups.createUnregisteredTaskMetricGroup();
        ExecutionAttemptID attempt = SubpartitionAccess.id(0).getProducerId();
        TaskInfoImpl info = new TaskInfoImpl("task", 1, 0, 1, 0);
        Configuration configuration = SteppedTask.configuration(gates.length);
        TaskStateManager states = states(task, reader);
        TaskManagerActions actions = Partial.of(TaskManagerActions.class, Map.of());
        TaskOperatorEventGateway coordinators = Partial.of(TaskOperatorEventGateway.class, Map.of());
        TaskManagerRuntimeInfo manager =
                Partial.of(TaskManagerRuntimeInfo.class, Map.of("getConfiguration", nothing -> new Configuration()));
        return Partial.of(
                Environment.class,
                Map.ofEntries(
                        Map.entry("getTaskConfiguration", nothing -> configuration),
                        Map.entry("getJobConfiguration", nothing -> job),
                        Map.entry("getExecutionConfig", nothing -> new ExecutionConfig()),
                        Map.entry("getJobID", nothing -> JOB),
                        Map.entry("getJobVertexId", nothing -> VERTEX),
                        Map.entry("getJobType", nothing -> JobType.STREAMING),
                        Map.entry("getExecutionId", nothing -> attempt),
                        Map.entry("getTaskInfo", nothing -> info),
                        Map.entry("getTaskManagerInfo", nothing -> manager),
                        Map.entry("getTaskManagerActions", nothing -> actions),
                        Map.entry("getOperatorCoordinatorEventGateway", nothing -> coordinators),
                        Map.entry("getMetricGroup", nothing -> metrics),
                        Map.entry(
                                "getUserCodeClassLoader",
                                nothing -> SimpleUserCodeClassLoader.create(TaskEnvironment.class.getClassLoader())),
                        Map.entry("getIOManager", nothing -> DIRECTORIES),
                        Map.entry("getAllInputGates", nothing -> gates),
                        Map.entry("getInputGate", called -> gates[(int) called[0]]),
                        Map.entry("getAllWriters", nothing -> new ResultPartitionWriter[] {partition}),
                        Map.entry("getTaskStateManager", nothing -> states),
                        Map.entry("getChannelStateExecutorFactory", nothing -> executors),
                        Map.entry("setMainMailboxExecutor", ignored -> null),
                        Map.entry("setAsyncOperationsThreadPool", ignored -> null),
                        Map.entry("setCheckpointStorageAccess", ignored -> null),
                        Map.entry(
                                "setChannelStateWriter",
                                called -> {
                                    task.writesWith((ChannelStateWriter) called[0]);
                                    return null;
                                }),
                        Map.entry(
                                "declineCheckpoint",
                                called -> {
                                    task.decline((long) called[0], (CheckpointException) called[1]);
                                    return null;
                                }),
                        Map.entry(
                                "failExternally",
                                called -> {
                                    task.fail((Throwable) called[0]);
                                    return null;
                                })));
    }

    private static TaskStateManager states(DeployedTask task, SequentialChannelStateReader reader) {
        return Partial.of(
                TaskStateManager.class,
                Map.ofEntries(
                        Map.entry("isTaskDeployedAsFinished", nothing -> false),
                        Map.entry("getRestoreCheckpointId", nothing -> Optional.empty()),
                        Map.entry("getSequentialChannelStateReader", nothing -> reader),
                        Map.entry("getInputRescalingDescriptor", nothing -> InflightDataRescalingDescriptor.NO_RESCALE),
                        Map.entry("getOutputRescalingDescriptor", nothing -> InflightDataRescalingDescriptor.NO_RESCALE),
                        Map.entry("getStateChangelogStorage", nothing -> null),
                        Map.entry("getFileMergingSnapshotManager", nothing -> null),
                        Map.entry("reportInitializationMetrics", ignored -> null),
                        Map.entry("reportIncompleteTaskStateSnapshots", ignored -> null),
                        Map.entry(
                                "reportTaskStateSnapshots",
                                called -> {
                                    long checkpoint = ((CheckpointMetaData) called[0]).getCheckpointId();
                                    task.acknowledge(checkpoint, (TaskStateSnapshot) called[2]);
                                    return null;
                                })));
    }

    /** Its threads are stopped, and what it has made is deleted, at once: nothing is written with it. */
    private static IOManager directories() {
        String[] paths = {System.getProperty("java.io.tmpdir")};
        try (IOManagerAsync made =
                new IOManagerAsync(paths[0]) {
                    @Override
                    public String[] getSpillingDirectoriesPaths() {
                        return paths;
                    }
                }) {
            return made;
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }
}
