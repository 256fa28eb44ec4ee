package conformance.flink;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipError;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * What a program offers behind the JSON Lines protocol, which docs/jsonl-protocol.md describes. The program performs
 * operations and answers their outcomes. It judges nothing.
 */
public final class Program {

    private static final int PROTOCOL = 4;
    /** How long the end of the program waits for what it drops last, in milliseconds. Nothing is answered any more. */
    private static final int PATIENCE = 1000;

    private final Offer offer;

    private Subject subject;
    /** Whether it was released. */
    private boolean isReleased;

    private Program(Offer offer) {
        this.offer = offer;
    }

    /** Answers requests until the suite closes the program. Ends the JVM. */
    public static void serve(Offer offer) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err); // a stray print of Flink must not end up among the answers
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Program program = new Program(offer);
        String line;
        while ((line = requests.readLine()) != null) {
            ObjectNode answer = program.answer(line);
            byte[] bytes = (Json.write(answer) + "\n").getBytes(StandardCharsets.UTF_8);
            answers.write(bytes, 0, bytes.length);
            answers.flush();
            if (answer.get("type").textValue().equals("closed")) {
                break;
            }
        }
        program.end();
        System.exit(0); // even if Flink left a thread running
    }

    private ObjectNode answer(String line) {
        try {
            return answer(Json.parse(line));
        } catch (BadRequest error) {
            return refused(error);
        } catch (LinkageError | ZipError unusable) {
            return refused(Unusable.reason(unusable));
        }
    }

    private static ObjectNode refused(BadRequest error) {
        return Json.tagged("error").put("reason", error.getMessage());
    }

    private ObjectNode answer(JsonNode request) throws BadRequest {
        String type = Json.text(Json.field(request, "type"));
        switch (type) {
            case "hello":
                return hello(request);
            case "open":
                open(component(request), Json.field(request, "config"));
                return Json.tagged("opened");
            case "call":
                return (ObjectNode) Json.tagged("outcome").set("outcome", outcome(Json.field(request, "call")));
            case "scenario":
                return scenario(request);
            case "close":
                return Json.tagged("closed");
            default:
                throw new BadRequest("unknown request \"" + type + "\"");
        }
    }

    private ObjectNode hello(JsonNode request) throws BadRequest {
        long protocol = Json.number(Json.field(request, "protocol"));
        if (protocol != PROTOCOL) {
            throw new BadRequest("this program speaks protocol " + PROTOCOL + ", not " + protocol);
        }
        ObjectNode hello =
                Json.tagged("hello")
                        .put("protocol", PROTOCOL)
                        .put("name", offer.name())
                        .put("version", EnvironmentInformation.getVersion());
        hello.set("capabilities", offer.capabilities());
        hello.set("components", offer.components());
        return hello;
    }

    private ObjectNode scenario(JsonNode request) throws BadRequest {
        String component = component(request);
        ArrayNode outcomes = Json.array();
        drop();
        for (JsonNode call : Json.field(request, "calls")) {
            if (call.path(0).asText().equals("new")) {
                open(component, call.has(1) ? call.get(1) : Json.field(request, "config"));
                outcomes.add(Json.object());
            } else {
                outcomes.add(outcome(call));
            }
        }
        return (ObjectNode) Json.tagged("outcomes").set("outcomes", outcomes);
    }

    private void open(String component, JsonNode config) throws BadRequest {
        drop();
        subject = offer.open(component, config);
        isReleased = false;
    }

    /** Lets go of the object under test. Returns the thread that gives back what it has; null if it has been released. */
    private Thread drop() {
        Subject dropped = subject;
        subject = null;
        if (dropped == null || isReleased) {
            return null;
        }
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                dropped.dropped();
                            } catch (Throwable ignored) {
                                // it was dropped since something is wrong with it
                            }
                        },
                        "dropped");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void end() {
        Thread last = drop();
        try {
            if (last != null) {
                last.join(PATIENCE);
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private static String component(JsonNode request) throws BadRequest {
        return Json.text(Json.field(request, "component"));
    }

    private ObjectNode outcome(JsonNode call) throws BadRequest {
        if (subject == null) {
            throw new BadRequest("no object is open");
        }
        ObjectNode outcome = Json.object();
        try {
            String method = Json.text(call.path(0));
            Object value = subject.call(method, new Subject.Arguments(call));
            isReleased |= method.equals("release");
            if (value != null) {
                outcome.putPOJO("value", value);
            }
        } catch (BadRequest error) {
            throw error;
        } catch (Throwable thrown) {
            Error unusable = Unusable.in(thrown);
            if (unusable != null) {
                throw Unusable.reason(unusable);
            }
            // The driver records any error in the history and goes on with the next scenario.
            outcome.set("error", offer.describe(thrown));
        }
        ArrayNode signals = subject.takeSignals();
        if (signals != null) {
            outcome.set("signals", signals);
        }
        return outcome;
    }
}
