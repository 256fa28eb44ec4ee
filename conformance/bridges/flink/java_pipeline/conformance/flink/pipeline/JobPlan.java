package conformance.flink.pipeline;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** A job as its configuration says. Its fields have the names of the port. */
final class JobPlan {

    /** A vertex of the job. */
    static final class Vertex {

        final int number;
        final String kind;
        final int parallelism;
        final int maxParallelism;
        final int firstTask;
        final int firstSplit;
        final int splits;

        private Vertex(int number, JsonNode json, int firstTask, int firstSplit) throws BadRequest {
            this.number = number;
            this.firstTask = firstTask;
            this.firstSplit = firstSplit;
            kind = Json.text(Json.field(json, "kind"));
            parallelism = number(json, "parallelism");
            maxParallelism = number(json, "max_parallelism");
            splits = number(json, "splits");
        }

        boolean isSource() {
            return kind.equals("source");
        }

        boolean isSink() {
            return kind.equals("sink");
        }

        String name() {
            return "vertex-" + number;
        }
    }

    /** An edge of the job. */
    static final class Edge {

        final int producer;
        final int consumer;
        final String kind;

        private Edge(JsonNode json) throws BadRequest {
            producer = number(json, "producer");
            consumer = number(json, "consumer");
            kind = Json.text(Json.field(json, "kind"));
        }
    }

    final List<Vertex> vertices = new ArrayList<>();
    final List<Edge> edges = new ArrayList<>();
    final int tasks;
    final int splits;
    final JsonNode settings;
    /** The checkpoint from which the job starts, and where it is; 0 and null: there is none. */
    final long restored;

    final String location;

    JobPlan(JsonNode config) throws BadRequest {
        int task = 0;
        int split = 0;
        for (JsonNode json : Json.field(config, "vertices")) {
            Vertex vertex = new Vertex(vertices.size(), json, task, split);
            task += vertex.parallelism;
            split += vertex.splits;
            vertices.add(vertex);
        }
        tasks = task;
        splits = split;
        for (JsonNode json : Json.field(config, "edges")) {
            edges.add(new Edge(json));
        }
        settings = Json.field(config, "settings");
        JsonNode checkpoint = config.path("restored");
        restored = checkpoint.isObject() ? Json.number(Json.field(checkpoint, "checkpoint")) : 0;
        location = checkpoint.isObject() ? Json.text(Json.field(checkpoint, "location")) : null;
    }

    int setting(String name) throws BadRequest {
        return number(settings, name);
    }

    boolean isSet(String name) throws BadRequest {
        return Json.field(settings, name).asBoolean();
    }

    String word(String name) throws BadRequest {
        return Json.text(Json.field(settings, name));
    }

    Vertex vertexOfTask(int task) {
        for (Vertex vertex : vertices) {
            if (task < vertex.firstTask + vertex.parallelism) {
                return vertex;
            }
        }
        throw new IllegalArgumentException("there is no task " + task);
    }

    /** The edges into a vertex, in their order. */
    List<Edge> inputs(Vertex vertex) {
        List<Edge> inputs = new ArrayList<>();
        for (Edge edge : edges) {
            if (edge.consumer == vertex.number) {
                inputs.add(edge);
            }
        }
        return inputs;
    }

    private static int number(JsonNode json, String name) throws BadRequest {
        return (int) Json.number(Json.field(json, name));
    }
}
