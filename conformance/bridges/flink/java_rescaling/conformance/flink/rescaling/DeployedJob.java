package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.checkpoint.JobManagerTaskRestore;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.executiongraph.IntermediateResult;
import org.apache.flink.runtime.jobgraph.DistributionPattern;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.IntermediateResultPartitionID;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;

/**
 * A real execution graph. Each vertex of the port is an operator. Those that are chained are in one vertex of Flink,
 * with the last one first; gates and partitions keep their numbers, since a chained edge is the only one at both ends.
 * Ids of vertices and operators are the same for every graph, since Flink's errors name them.
 */
final class DeployedJob {

    private final JobShape shape;
    private final OperatorID[] operators;
    /** By vertex of the port; the same one for all of a chain. */
    private final ExecutionJobVertex[] deployed;

    /** @param operators the ids of the operators, by which Flink finds their state */
    DeployedJob(JobShape shape, OperatorID[] operators) throws Exception {
        this.shape = shape;
        this.operators = operators;
        JobVertex[] vertices = makeVertices();
        connect(vertices);
        JobVertex[] distinct = Arrays.stream(vertices).distinct().toArray(JobVertex[]::new);
        DefaultExecutionGraph graph = Graphs.build(new JobGraph(new JobID(0, 0), "job", distinct));
        deployed =
                Arrays.stream(vertices)
                        .map(one -> graph.getJobVertex(one.getID()))
                        .toArray(ExecutionJobVertex[]::new);
    }

    private JobVertex[] makeVertices() {
        JobVertex[] vertices = new JobVertex[shape.vertices()];
        for (int vertex = 0; vertex < vertices.length; vertex++) {
            if (vertices[vertex] != null) {
                continue; // the vertices that are chained to one have higher numbers
            }
            List<Integer> chain = chainOf(vertex);
            List<OperatorIDPair> ids = new ArrayList<>();
            for (int at = chain.size() - 1; at >= 0; at--) {
                ids.add(OperatorIDPair.generatedIDOnly(operators[chain.get(at)]));
            }
            JobVertex made = new JobVertex(shape.name(vertex), new JobVertexID(0, vertex), ids);
            made.setInvokableClass(OneInputStreamTask.class);
            made.setParallelism(shape.parallelisms[vertex]);
            made.setMaxParallelism(shape.maxParallelisms[vertex]);
            chain.forEach(member -> vertices[member] = made);
        }
        return vertices;
    }

    /** A vertex and those that are chained to it, one after the other. */
    private List<Integer> chainOf(int head) {
        List<Integer> chain = new ArrayList<>(List.of(head));
        for (int edge = 0; edge < shape.edges(); edge++) {
            if (shape.chained[edge] && shape.edge(edge).producer == chain.get(chain.size() - 1)) {
                chain.add(shape.edge(edge).consumer);
                edge = -1; // the edges stand in no order
            }
        }
        return chain;
    }

    private void connect(JobVertex[] vertices) throws BadRequest {
        for (int edge = 0; edge < shape.edges(); edge++) {
            if (shape.chained[edge]) {
                continue;
            }
            StreamPartitioner<Object> partitioner = Partitioners.make(shape.edge(edge).kind);
            JobEdge made =
                    Graphs.connect(
                            vertices[shape.edge(edge).consumer],
                            vertices[shape.edge(edge).producer],
                            new IntermediateDataSetID(),
                            partitioner.isPointwise() ? DistributionPattern.POINTWISE : DistributionPattern.ALL_TO_ALL);
            made.setUpstreamSubtaskStateMapper(partitioner.getUpstreamSubtaskStateMapper());
            made.setDownstreamSubtaskStateMapper(partitioner.getDownstreamSubtaskStateMapper());
        }
    }

    /** Lets Flink assign the state of all operators. */
    void assign(Map<OperatorID, OperatorState> states, boolean outputOnDownstream) {
        Assignments.operation(new HashSet<>(Arrays.asList(deployed)), states, outputOnDownstream).assignStates();
    }

    int parallelism(int vertex) {
        return deployed[vertex].getParallelism();
    }

    /** What the operator of a vertex recovers in a subtask; null if the subtask is deployed without state. */
    OperatorSubtaskState restored(int vertex, int subtask) {
        JobManagerTaskRestore restore = subtask(vertex, subtask).getCurrentExecutionAttempt().getTaskRestore();
        return restore == null ? null : restore.getTaskStateSnapshot().getSubtaskStateByOperatorID(operators[vertex]);
    }

    /** How many channels a gate has. */
    int channels(int vertex, int subtask, int gate) {
        return subtask(vertex, subtask).getConsumedPartitionGroup(gate).size();
    }

    /** How many subpartitions a partition has. */
    int subpartitions(int vertex, int subtask, int partition) {
        IntermediateResult result = deployed[vertex].getProducedDataSets()[partition];
        return subtask(vertex, subtask)
                .getProducedPartitions()
                .get(new IntermediateResultPartitionID(result.getId(), subtask))
                .getNumberOfSubpartitions();
    }

    private ExecutionVertex subtask(int vertex, int subtask) {
        return deployed[vertex].getTaskVertices()[subtask];
    }
}
