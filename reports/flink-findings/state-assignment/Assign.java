import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.blob.BlobWriter;
import org.apache.flink.runtime.checkpoint.CheckpointStatsTracker;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.JobManagerTaskRestore;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateAssignmentOperation;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.PartitionLocationConstraint;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraph;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraphBuilder;
import org.apache.flink.runtime.executiongraph.DefaultVertexAttemptNumberStore;
import org.apache.flink.runtime.executiongraph.ExecutionDeploymentListener;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.ExecutionStateUpdateListener;
import org.apache.flink.runtime.io.network.partition.JobMasterPartitionTracker;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.jobgraph.DistributionPattern;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.scheduler.SchedulerBase;
import org.apache.flink.runtime.scheduler.adaptivebatch.NonAdaptiveExecutionPlanSchedulingContext;
import org.apache.flink.runtime.shuffle.ShuffleMaster;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.streaming.runtime.partitioner.CustomPartitionerWrapper;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;
import org.slf4j.LoggerFactory;

/**
 * The channel state of one channel of the consumer is assigned to the new subtasks of a job.
 *
 * <p>With the argument "chained", the consumer is chained to its producer in the restored job. With "custom", the edge
 * has a partitioner of the user, and its producer is restored with 3 subtasks instead of 2, which the consumer has. With
 * "control", the producer of such an edge is restored with 4. Everything is Flink's; the job is not deployed. Exit
 * status 1: records of the channel are lost. 0: none is.
 */
public final class Assign {

    private static final int CONSUMERS = 3;
    private static final ResultPartitionType PIPELINED = ResultPartitionType.PIPELINED_BOUNDED;

    public static void main(String[] arguments) throws Exception {
        boolean isChained = arguments[0].equals("chained");
        boolean isControl = arguments[0].equals("control");
        int producers = isChained ? CONSUMERS : 2;
        OperatorID producer = new OperatorID();
        OperatorID consumer = new OperatorID();
        Map<OperatorID, OperatorState> states = new HashMap<>();
        states.put(producer, new OperatorState(null, null, producer, producers, 128));
        OperatorState stored = new OperatorState(null, null, consumer, CONSUMERS, 128);
        stored.putState(
                1,
                OperatorSubtaskState.builder()
                        .setInputChannelState(
                                StateObjectCollection.singleton(
                                        new InputChannelStateHandle(
                                                1,
                                                new InputChannelInfo(0, 0),
                                                new ByteStreamStateHandle("state", new byte[1]),
                                                List.of(0L),
                                                1)))
                        .build());
        states.put(consumer, stored);

        List<JobVertex> vertices = isChained ? chained(producer, consumer) : joined(producer, consumer, isControl ? 4 : 3);
        DefaultExecutionGraph graph = graph(new JobGraph(null, "job", vertices.toArray(new JobVertex[0])));
        operation(new HashSet<>(graph.getAllVertices().values()), states).assignStates();
        System.out.println("the state was assigned");

        ExecutionJobVertex restored = graph.getJobVertex(vertices.get(vertices.size() - 1).getID());
        System.exit(isLost(restored, consumer) ? 1 : 0);
    }

    /** Whether a subtask that may have to process records of the channel does not recover them. */
    private static boolean isLost(ExecutionJobVertex vertex, OperatorID consumer) {
        List<Integer> recovering = new ArrayList<>();
        List<Integer> filtering = new ArrayList<>();
        for (int subtask = 0; subtask < vertex.getParallelism(); subtask++) {
            JobManagerTaskRestore restore =
                    vertex.getTaskVertices()[subtask].getCurrentExecutionAttempt().getTaskRestore();
            OperatorSubtaskState state =
                    restore == null ? null : restore.getTaskStateSnapshot().getSubtaskStateByOperatorID(consumer);
            if (state != null && !state.getInputChannelState().isEmpty()) {
                recovering.add(subtask);
            }
            InflightDataRescalingDescriptor descriptor =
                    state == null ? InflightDataRescalingDescriptor.NO_RESCALE : state.getInputRescalingDescriptor();
            if (!descriptor.equals(InflightDataRescalingDescriptor.NO_RESCALE) && descriptor.isAmbiguous(0, 1)) {
                filtering.add(subtask);
            }
        }
        System.out.println("subtasks that recover the state of the channel: " + recovering);
        System.out.println("subtasks that are to keep those of its records which the partitioner sends them: " + filtering);
        boolean isLost = recovering.isEmpty() || !recovering.containsAll(filtering);
        System.out.println(isLost ? "LOST: nothing fails" : "nothing is lost");
        return isLost;
    }

    private static List<JobVertex> chained(OperatorID producer, OperatorID consumer) {
        // The last operator of a chain is the first in the list.
        return List.of(vertex("chain", CONSUMERS, consumer, producer));
    }

    private static List<JobVertex> joined(OperatorID producer, OperatorID consumer, int producers) throws Exception {
        JobVertex first = vertex("producer", producers, producer);
        JobVertex second = vertex("consumer", CONSUMERS, consumer);
        Partitioner<Long> byKey = (key, channels) -> (int) (key % channels);
        KeySelector<Long, Long> itself = record -> record;
        StreamPartitioner<Long> partitioner = new CustomPartitionerWrapper<>(byKey, itself);
        JobEdge edge =
                second.connectNewDataSetAsInput(
                        first, DistributionPattern.ALL_TO_ALL, PIPELINED, new IntermediateDataSetID(), false, false);
        edge.setUpstreamSubtaskStateMapper(partitioner.getUpstreamSubtaskStateMapper());
        edge.setDownstreamSubtaskStateMapper(partitioner.getDownstreamSubtaskStateMapper());
        return List.of(first, second);
    }

    private static JobVertex vertex(String name, int parallelism, OperatorID... operators) {
        List<OperatorIDPair> ids = new ArrayList<>();
        for (OperatorID operator : operators) {
            ids.add(OperatorIDPair.generatedIDOnly(operator));
        }
        JobVertex vertex = new JobVertex(name, new JobVertexID(), ids);
        vertex.setInvokableClass(OneInputStreamTask.class);
        vertex.setParallelism(parallelism);
        vertex.setMaxParallelism(128);
        return vertex;
    }

    /** The constructor got another argument in 2.3: whether the consumers recover output state. */
    private static StateAssignmentOperation operation(
            Set<ExecutionJobVertex> vertices, Map<OperatorID, OperatorState> states) throws Exception {
        Constructor<?> constructor = StateAssignmentOperation.class.getConstructors()[0];
        Object[] arguments =
                constructor.getParameterCount() == 4
                        ? new Object[] {1L, vertices, states, false}
                        : new Object[] {1L, vertices, states, false, false};
        return (StateAssignmentOperation) constructor.newInstance(arguments);
    }

    private static DefaultExecutionGraph graph(JobGraph job) throws Exception {
        return DefaultExecutionGraphBuilder.buildGraph(
                job,
                new Configuration(),
                unused(ScheduledExecutorService.class),
                Runnable::run,
                Assign.class.getClassLoader(),
                null,
                null,
                null,
                Duration.ofSeconds(10),
                unused(BlobWriter.class),
                LoggerFactory.getLogger(Assign.class),
                unused(ShuffleMaster.class),
                unused(JobMasterPartitionTracker.class),
                PartitionLocationConstraint.fromJobType(job.getJobType()),
                unused(ExecutionDeploymentListener.class),
                unused(ExecutionStateUpdateListener.class),
                0,
                new DefaultVertexAttemptNumberStore(),
                SchedulerBase.computeVertexParallelismStore(job),
                unused(CheckpointStatsTracker.class),
                false,
                new ExecutionJobVertex.Factory(),
                type -> false,
                false,
                UnregisteredMetricGroups.createUnregisteredJobManagerJobMetricGroup(),
                NonAdaptiveExecutionPlanSchedulingContext.INSTANCE);
    }

    /** What is not used as long as nothing is deployed; nothing is so large that it is stored elsewhere. */
    private static <T> T unused(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        Assign.class.getClassLoader(),
                        new Class<?>[] {type},
                        (self, method, arguments) -> {
                            if (method.getName().equals("getMinOffloadingSize")) {
                                return Integer.MAX_VALUE;
                            }
                            throw new UnsupportedOperationException(type.getSimpleName() + "." + method.getName());
                        }));
    }
}
