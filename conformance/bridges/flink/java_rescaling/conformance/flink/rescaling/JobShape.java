package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The vertices and edges of a job, as the port numbers them, with what a restore may change. */
final class JobShape {

    private final String[] names;
    private final Edge[] edges;

    final int[] parallelisms;
    /** What is configured for each vertex, or {@link JobVertex#MAX_PARALLELISM_DEFAULT}. */
    final int[] maxParallelisms;
    /** By edge: whether its consumer is chained to its producer. */
    final boolean[] chained;

    private JobShape(String[] names, Edge[] edges, int[] parallelisms, int[] maxParallelisms, boolean[] chained) {
        this.names = names;
        this.edges = edges;
        this.parallelisms = parallelisms;
        this.maxParallelisms = maxParallelisms;
        this.chained = chained;
    }

    /** A job with the maximum parallelisms of a configuration of the port. */
    static JobShape parse(JsonNode config) throws BadRequest {
        JsonNode vertices = Json.field(config, "vertices");
        JsonNode listed = Json.field(config, "edges");
        String[] names = new String[vertices.size()];
        int[] parallelisms = new int[names.length];
        int[] maxParallelisms = new int[names.length];
        for (int vertex = 0; vertex < names.length; vertex++) {
            JsonNode one = vertices.get(vertex);
            names[vertex] = Json.text(Json.field(one, "name"));
            parallelisms[vertex] = (int) Json.number(Json.field(one, "parallelism"));
            maxParallelisms[vertex] = (int) Json.number(Json.field(one, "max_parallelism"));
        }
        Edge[] edges = new Edge[listed.size()];
        for (int edge = 0; edge < edges.length; edge++) {
            edges[edge] = new Edge(listed.get(edge));
        }
        return new JobShape(names, edges, parallelisms, maxParallelisms, new boolean[edges.length]);
    }

    /** The same job with nothing configured, so that maximum parallelisms are taken from the state. */
    JobShape unconfigured() {
        int[] nothing = new int[names.length];
        Arrays.fill(nothing, JobVertex.MAX_PARALLELISM_DEFAULT);
        return new JobShape(names, edges, parallelisms.clone(), nothing, chained.clone());
    }

    int vertices() {
        return names.length;
    }

    int edges() {
        return edges.length;
    }

    String name(int vertex) {
        return names[vertex];
    }

    Edge edge(int edge) {
        return edges[edge];
    }

    /** How many edges lead to a vertex: they are its gates. */
    int gates(int vertex) {
        return (int) Arrays.stream(edges).filter(edge -> edge.consumer == vertex).count();
    }

    /** How many edges come from a vertex: they are its partitions. */
    int partitions(int vertex) {
        return (int) Arrays.stream(edges).filter(edge -> edge.producer == vertex).count();
    }

    /**
     * Whether the answer of a release may depend on the order in which it goes through the vertices: if two edges join
     * the same vertices, or a mapping is none that leaves everything where it is although nothing was rescaled.
     */
    boolean isUnclear() {
        Set<List<Integer>> joined = new HashSet<>();
        for (Edge edge : edges) {
            boolean isNew = joined.add(List.of(edge.producer, edge.consumer));
            if (!isNew || edge.kind.equals("custom") || edge.kind.equals("global")) {
                return true;
            }
        }
        return false;
    }

    static final class Edge {

        final int producer;
        final int consumer;
        final String kind;

        private Edge(JsonNode edge) throws BadRequest {
            producer = (int) Json.number(Json.field(edge, "producer"));
            consumer = (int) Json.number(Json.field(edge, "consumer"));
            kind = Json.text(Json.field(edge, "kind"));
        }
    }
}
