package conformance.flink.coordinator;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import conformance.flink.Subject;
import conformance.flink.Unusable;
import org.apache.flink.runtime.operators.coordination.AcknowledgeCheckpointEvent;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** An operator coordinator of Flink: its holder in the job master, the transport, and what the tasks do about it. */
final class CoordinatorSubject implements Subject {

    private final Signals signals = new Signals();
    private final int parallelism;
    private final JobMaster master;

    CoordinatorSubject(JsonNode config) throws BadRequest {
        // Whether the subtasks are sources is the driver's concern: the order of barriers and events.
        Json.only(config, "parallelism", "sources", "checkpointing", "restored");
        parallelism = (int) Json.number(Json.field(config, "parallelism"));
        boolean checkpointing = config.path("checkpointing").asBoolean(true);
        JsonNode restored = config.path("restored");
        try {
            master = new JobMaster(parallelism, checkpointing, checkpoint(restored), signals);
        } catch (Exception refused) {
            Unusable.rethrow(refused);
            throw new BadRequest("Flink does not accept the configuration " + config + ": " + refused);
        }
        signals.take(); // that a coordinator is restored before it is started is no operation of the port
    }

    /** Since no release stores reports, a checkpoint has nothing but its id. */
    private static long checkpoint(JsonNode restored) throws BadRequest {
        if (restored.isMissingNode() || restored.isNull()) {
            return OperatorCoordinator.NO_CHECKPOINT;
        }
        for (JsonNode reports : Json.field(restored, "stored")) {
            if (!reports.isEmpty()) {
                throw new BadRequest("a checkpoint of this Flink stores no reports, found " + reports);
            }
        }
        return Json.number(Json.field(restored, "checkpoint"));
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "send":
                master.coordinator.send(Message.parse(arguments.node(0)));
                return null;
            case "cut":
                master.coordinator.cut(arguments.number(0), arguments.truth(1));
                return null;
            case "fail_job":
                master.coordinator.failJob();
                return null;
            case "trigger":
                master.trigger(arguments.number(0));
                return null;
            case "inject":
                return null; // since FLINK-26029 no holder is notified that the barriers leave
            case "abort_triggering":
                master.abortTriggering();
                return null;
            case "abort":
                if (arguments.truth(1)) {
                    master.abortTriggering();
                }
                master.abort(arguments.number(0));
                return null;
            case "complete":
                return complete(arguments);
            case "turn":
                master.mainThread.turn();
                return null;
            case "run":
                master.run(attempt(arguments));
                return null;
            case "fail_attempt":
                master.fail(attempt(arguments), ids(arguments.node(2)));
                return null;
            case "finish":
                master.finish(attempt(arguments));
                return null;
            case "restart":
                master.restart(numbers(arguments.node(0)), checkpoint(arguments.node(1)), ids(arguments.node(2)));
                return null;
            case "restart_all":
                master.restartAll(checkpoint(arguments.node(0)), ids(arguments.node(1)));
                return null;
            case "speculate":
                master.speculate(arguments.index(0));
                return null;
            case "resources":
                return Json.object().put("segments", 0).put("heap", 0).put("files", 0).put("listeners", 0)
                        .put("futures", master.openFutures());
            case "release":
                master.close();
                return null;
            default:
                return callTask(method, arguments);
        }
    }

    /** What happens in a task, or between it and the job master. */
    private Object callTask(String method, Arguments arguments) throws BadRequest {
        switch (method) {
            case "deliver":
                return attempt(arguments).deliver().json();
            case "reply":
                attempt(arguments).reply();
                return null;
            case "lose_event":
                attempt(arguments).loseEvent();
                return null;
            case "lose_reply":
                attempt(arguments).loseReply();
                return null;
            case "report":
                Message report = Message.parse(arguments.node(0));
                master.get(report.subtask, report.attempt).report(report);
                return null;
            case "arrive":
                master.arrive(attempt(arguments), attempt(arguments).nextReport());
                return null;
            case "acknowledge_again":
                master.arrive(attempt(arguments), new AcknowledgeCheckpointEvent(arguments.number(2)));
                return null;
            case "lose_report":
                loseReport(attempt(arguments));
                return null;
            case "barrier":
                snapshot(attempt(arguments), arguments.number(2), arguments.truth(3), arguments.node(4));
                return null;
            case "notify_aborted":
                return null; // the task ignores the barrier when it comes, which the driver knows
            default:
                throw new BadRequest("a coordinator has no method \"" + method + "\"");
        }
    }

    /** {@code CheckpointCoordinator.cleanupAfterCompletedCheckpoint}: what it subsumes is aborted first. */
    private ArrayNode complete(Arguments arguments) throws BadRequest {
        for (long subsumed : ids(arguments.node(1))) {
            master.abort(subsumed);
        }
        if (arguments.truth(2)) {
            master.complete(arguments.number(0));
        }
        ArrayNode stored = Json.array();
        for (int subtask = 0; subtask < parallelism; subtask++) {
            stored.addArray(); // reports are passed on untouched, and none is stored
        }
        return stored;
    }

    /** The task fails itself ({@code RpcTaskOperatorEventGateway.sendOperatorEventToCoordinator}). */
    private void loseReport(Attempt attempt) {
        attempt.nextReport();
        signals.attempt("task-failover-triggered", attempt.subtask, attempt.number);
    }

    /**
     * {@code RegularOperatorChain.snapshotState}: after the synchronous part of all operators, {@code
     * OperatorChain.sendAcknowledgeCheckpointEvent} notifies the coordinator. If it throws, nothing is sent.
     */
    private static void snapshot(Attempt attempt, long checkpoint, boolean succeeds, JsonNode hook)
            throws BadRequest {
        for (JsonNode report : hook) {
            attempt.report(Message.parse(report));
        }
        if (succeeds) {
            attempt.report(new AcknowledgeCheckpointEvent(checkpoint));
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    private Attempt attempt(Arguments arguments) throws BadRequest {
        Attempt found = master.get(arguments.index(0), arguments.index(1));
        if (found == null) {
            throw new BadRequest("subtask " + arguments.node(0) + " has no attempt " + arguments.node(1));
        }
        return found;
    }

    private static long[] ids(JsonNode list) throws BadRequest {
        long[] ids = new long[list.size()];
        for (int index = 0; index < ids.length; index++) {
            ids[index] = Json.number(list.get(index));
        }
        return ids;
    }

    private static int[] numbers(JsonNode list) throws BadRequest {
        return Json.ids(list);
    }
}
