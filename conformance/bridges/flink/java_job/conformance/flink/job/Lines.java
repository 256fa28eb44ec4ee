package conformance.flink.job;

import conformance.flink.Json;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Prints what happened, one JSON object on each line. It judges nothing. */
final class Lines {

    /** A time without assignments that is at least so long is printed. */
    private static final long GAP_MILLIS = 250;

    private static final long START = System.currentTimeMillis();
    private static PrintStream out = System.out;
    private static long lastAssigned = START;
    private static boolean failed;
    private static boolean restored; // since it failed

    private Lines() {}

    /** Whatever Flink prints goes to the log from now on. */
    static synchronized void begin() {
        out = System.out;
        System.setOut(System.err);
    }

    /** The time since the start of the program of a time of the clock. */
    static long at(long clock) {
        return clock - START;
    }

    static ObjectNode now(String type) {
        return Json.tagged(type).put("at", at(System.currentTimeMillis()));
    }

    static synchronized void print(ObjectNode line) {
        try {
            byte[] bytes = (Json.write(line) + "\n").getBytes(StandardCharsets.UTF_8);
            out.write(bytes, 0, bytes.length);
            out.flush();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static ArrayNode array(int[] entries) {
        ArrayNode array = Json.array();
        for (int entry : entries) {
            array.add(entry);
        }
        return array;
    }

    /** A split was assigned. Printed only if it is the first after a restart, or after a long time. */
    static synchronized void assigned() {
        long now = System.currentTimeMillis();
        if (failed && restored || now - lastAssigned >= GAP_MILLIS) {
            print(now("assigned").put("previous", at(lastAssigned)));
        }
        if (restored) {
            failed = false;
        }
        lastAssigned = now;
    }

    static synchronized void closing() {
        print(now("closing").put("last_assigned", at(lastAssigned)));
    }

    static synchronized void failure(String where, int subtask, long checkpoint) {
        failed = true;
        restored = false;
        print(now("failure").put("where", where).put("subtask", subtask).put("checkpoint", checkpoint));
    }

    static void returned(int subtask, int[] units) {
        ObjectNode line = now("returned").put("subtask", subtask);
        line.set("units", array(units));
        print(line);
    }

    static synchronized void restored(int subtask, long checkpoint, int[] forgotten, int forgottenReports) {
        restored = true;
        ObjectNode line = now("restored").put("subtask", subtask).put("checkpoint", checkpoint);
        line.set("forgotten", array(forgotten));
        print(line.put("forgotten_reports", forgottenReports));
    }
}
