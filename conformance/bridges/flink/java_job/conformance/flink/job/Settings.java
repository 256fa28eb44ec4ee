package conformance.flink.job;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** What a run does, from its JSON. All parts of the job are in one JVM and read it here. */
final class Settings {

    static volatile Settings current;

    /** A failure that is planned. */
    static final class Fault {

        final String where;
        final int subtask;
        final int after;

        private Fault(JsonNode json) throws BadRequest {
            Json.only(json, "where", "subtask", "after");
            where = Json.text(Json.field(json, "where"));
            subtask = number(json, "subtask");
            after = number(json, "after");
        }
    }

    final int parallelism;
    final boolean unaligned;
    final int unalignedAfterMillis;
    final int intervalMillis;
    final int timeoutMillis;
    final int tolerable;
    final int concurrent;
    final int savepointMillis;
    final boolean onRequest;
    final int burst;
    final int periodMillis;
    final int inSnapshot;
    final int afterSnapshot;
    final int busyMillis;
    final int noticeMillis;
    final int alignmentMillis;
    final boolean shuffled;
    final List<Integer> finishEarly = new ArrayList<>();
    final int finishAfter;
    final List<Fault> faults = new ArrayList<>();
    final long seed;
    final int checkpoints;
    final int seconds;

    Settings(JsonNode json) throws BadRequest {
        parallelism = number(json, "parallelism");
        unaligned = truth(json, "unaligned");
        unalignedAfterMillis = number(json, "unaligned_after_ms");
        intervalMillis = number(json, "interval_ms");
        timeoutMillis = number(json, "timeout_ms");
        tolerable = number(json, "tolerable");
        concurrent = number(json, "concurrent");
        savepointMillis = number(json, "savepoint_ms");
        onRequest = truth(json, "on_request");
        burst = number(json, "burst");
        periodMillis = number(json, "period_ms");
        inSnapshot = number(json, "in_snapshot");
        afterSnapshot = number(json, "after_snapshot");
        busyMillis = number(json, "busy_ms");
        noticeMillis = number(json, "notice_ms");
        alignmentMillis = number(json, "alignment_ms");
        shuffled = truth(json, "shuffled");
        for (JsonNode subtask : Json.field(json, "finish_early")) {
            finishEarly.add((int) Json.number(subtask));
        }
        finishAfter = number(json, "finish_after");
        for (JsonNode fault : Json.field(json, "faults")) {
            faults.add(new Fault(fault));
        }
        seed = Json.number(Json.field(json, "seed"));
        checkpoints = number(json, "checkpoints");
        seconds = number(json, "seconds");
    }

    private static int number(JsonNode json, String name) throws BadRequest {
        return (int) Json.number(Json.field(json, name));
    }

    private static boolean truth(JsonNode json, String name) throws BadRequest {
        JsonNode found = Json.field(json, name);
        if (!found.isBoolean()) {
            throw new BadRequest("expected true or false as \"" + name + "\", found " + found);
        }
        return found.booleanValue();
    }
}
