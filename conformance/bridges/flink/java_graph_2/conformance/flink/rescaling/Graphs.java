package conformance.flink.rescaling;

import conformance.flink.Partial;
import java.time.Duration;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointStatsTracker;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.PartitionLocationConstraint;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraph;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraphBuilder;
import org.apache.flink.runtime.executiongraph.DefaultVertexAttemptNumberStore;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.jobgraph.DistributionPattern;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.scheduler.SchedulerBase;
import org.apache.flink.runtime.scheduler.adaptivebatch.NonAdaptiveExecutionPlanSchedulingContext;

/** How an execution graph is made in Flink 2. */
final class Graphs {

    static final ResultPartitionType RESULT_TYPE = ResultPartitionType.PIPELINED_BOUNDED;

    private Graphs() {}

    static JobEdge connect(
            JobVertex consumer, JobVertex producer, IntermediateDataSetID set, DistributionPattern pattern) {
        return consumer.connectNewDataSetAsInput(producer, pattern, RESULT_TYPE, set, false, false);
    }

    static OperatorState state(OperatorID operator, int parallelism, int maxParallelism) {
        return new OperatorState(null, null, operator, parallelism, maxParallelism);
    }

    static DefaultExecutionGraph build(JobGraph job) throws Exception {
        return DefaultExecutionGraphBuilder.buildGraph(
                job,
                new Configuration(),
                Surroundings.executor(),
                Runnable::run,
                Surroundings.LOADER,
                null, // checkpoints are neither taken nor stored
                null,
                null,
                Duration.ofSeconds(10),
                Surroundings.blobs(),
                Surroundings.LOG,
                Surroundings.shuffles(),
                Surroundings.tracker(),
                PartitionLocationConstraint.fromJobType(job.getJobType()),
                Surroundings.deployments(),
                Surroundings.updates(),
                0,
                new DefaultVertexAttemptNumberStore(),
                SchedulerBase.computeVertexParallelismStore(job),
                Partial.of(CheckpointStatsTracker.class, Map.of()),
                false,
                new ExecutionJobVertex.Factory(),
                type -> false,
                false,
                UnregisteredMetricGroups.createUnregisteredJobManagerJobMetricGroup(),
                NonAdaptiveExecutionPlanSchedulingContext.INSTANCE);
    }
}
