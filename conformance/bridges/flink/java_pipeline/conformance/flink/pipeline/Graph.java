package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The job as Flink's graph: one vertex for each of the configuration, with its name and its number as its uid. */
final class Graph {

    private static final TypeInformation<byte[]> TYPE = PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;

    private final LiveJob job;
    private final List<DataStream<byte[]>> streams = new ArrayList<>();

    private Graph(LiveJob job) {
        this.job = job;
    }

    static JobGraph of(LiveJob job) throws BadRequest, IOException {
        JobPlan plan = job.plan;
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(Options.ofJob(plan, job.world.folder));
        environment.disableOperatorChaining();
        Graph graph = new Graph(job);
        for (JobPlan.Vertex vertex : plan.vertices) {
            graph.streams.add(
                    (vertex.isSource() ? graph.source(environment, vertex) : graph.operator(vertex))
                            .name(vertex.name())
                            .uid(vertex.name())
                            .setParallelism(vertex.parallelism)
                            .setMaxParallelism(vertex.maxParallelism));
        }
        JobGraph made = environment.getStreamGraph().getJobGraph();
        if (plan.location != null) {
            made.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(plan.location));
        }
        Restores.listen(job, made);
        return made;
    }

    private SingleOutputStreamOperator<byte[]> source(StreamExecutionEnvironment environment, JobPlan.Vertex vertex) {
        return environment.fromSource(
                new SplitSource(job.number, vertex.number), WatermarkStrategy.noWatermarks(), vertex.name(), TYPE);
    }

    private SingleOutputStreamOperator<byte[]> operator(JobPlan.Vertex vertex) throws BadRequest {
        List<DataStream<byte[]>> inputs = new ArrayList<>();
        for (JobPlan.Edge edge : job.plan.inputs(vertex)) {
            inputs.add(partitioned(streams.get(edge.producer), edge.kind));
        }
        DataStream<byte[]> first = inputs.get(0);
        int number = vertex.number;
        switch (vertex.kind) {
            case "map":
                return first.transform(vertex.name(), TYPE, new PassingOperator(job.number, number));
            case "count":
                return first.transform(vertex.name(), TYPE, new CountOperator(job.number, number));
            case "sink":
                return first.transform(vertex.name(), TYPE, new SinkOperator(job.number, number));
            case "union":
                for (DataStream<byte[]> other : inputs.subList(1, inputs.size())) {
                    first = first.union(other);
                }
                return first.transform(vertex.name(), TYPE, new PassingOperator(job.number, number));
            case "two-input":
            case "selective": // Flink takes no checkpoints of operators that choose their input
                return first.connect(inputs.get(1))
                        .transform(vertex.name(), TYPE, new TwoInputOperator(job.number, number));
            case "broadcast-join":
                return first.connect(inputs.get(1))
                        .transform(vertex.name(), TYPE, new BroadcastJoinOperator(job.number, number));
            default:
                throw new BadRequest("there is no vertex of the kind " + vertex.kind + " here");
        }
    }

    private static DataStream<byte[]> partitioned(DataStream<byte[]> stream, String kind) throws BadRequest {
        switch (kind) {
            case "hash":
                return stream.keyBy(Records::key, Types.INT);
            case "rebalance":
                return stream.rebalance();
            case "rescale":
                return stream.rescale();
            case "forward":
                return stream.forward();
            case "broadcast":
                return stream.broadcast();
            case "global":
                return stream.global();
            case "custom":
                return stream.partitionCustom((Integer key, int many) -> key % many, Records::key);
            default:
                throw new BadRequest("there is no edge of the kind " + kind + " here");
        }
    }
}
