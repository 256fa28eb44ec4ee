package conformance.flink.coordinator;

import conformance.flink.Json;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The signals that were emitted since the last outcome, and the tickets of which none was emitted yet. */
final class Signals {

    private static final class Ticket {
        private final Message message;
        private final CompletableFuture<?> future;

        private Ticket(Message message, CompletableFuture<?> future) {
            this.message = message;
            this.future = future;
        }
    }

    private final List<Ticket> tickets = new ArrayList<>();
    private ArrayNode told;

    /** Watches the future of an event from now on. */
    void watch(Message message, CompletableFuture<?> future) {
        tickets.add(new Ticket(message, future));
    }

    int openTickets() {
        lookAtTickets();
        return tickets.size();
    }

    void forgetTickets() {
        tickets.clear();
    }

    void turnQueued() {
        tell(Json.tagged("turn-queued"));
    }

    /** @param message null: a message of Flink */
    void transmitted(String type, Attempt attempt, Message message) {
        ObjectNode signal = of(type, attempt.subtask, attempt.number);
        if (message != null) {
            signal.set("message", message.json());
        }
        tell(signal);
    }

    void received(int subtask, int attempt, Message message) {
        tell((ObjectNode) of("report-received", subtask, attempt).set("message", message.json()));
    }

    void attempt(String type, int subtask, int attempt) {
        tell(of(type, subtask, attempt));
    }

    void checkpoint(String type, long checkpoint) {
        tell(Json.tagged(type).put("checkpoint", checkpoint));
    }

    void checkpointed(long checkpoint, boolean succeeded) {
        tell(Json.tagged("coordinator-checkpointed").put("checkpoint", checkpoint).put("succeeded", succeeded));
    }

    void subtaskReset(int subtask, long checkpoint) {
        tell(Json.tagged("subtask-reset").put("subtask", subtask).put("checkpoint", checkpoint));
    }

    void globalFailover() {
        tell(Json.tagged("global-failover-triggered"));
    }

    /** Returns the signals and forgets them; null if there were none. */
    ArrayNode take() {
        lookAtTickets();
        ArrayNode taken = told;
        told = null;
        return taken;
    }

    private static ObjectNode of(String type, int subtask, int attempt) {
        return Json.tagged(type).put("subtask", subtask).put("attempt", attempt);
    }

    private void tell(ObjectNode signal) {
        lookAtTickets();
        add(signal);
    }

    /**
     * A completed future runs what depends on it in no particular order. So the signal of a ticket is not emitted by a
     * dependent of its future, but as soon as the future is seen to be complete, which is before anything else is
     * emitted.
     */
    private void lookAtTickets() {
        for (Iterator<Ticket> open = tickets.iterator(); open.hasNext(); ) {
            Ticket ticket = open.next();
            if (ticket.future.isDone()) {
                open.remove();
                ObjectNode signal = Json.tagged("ticket-ended");
                signal.set("message", ticket.message.json());
                add(signal.put("delivered", !ticket.future.isCompletedExceptionally()));
            }
        }
    }

    private void add(ObjectNode signal) {
        if (told == null) {
            told = Json.array();
        }
        told.add(signal);
    }
}
