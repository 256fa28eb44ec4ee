package conformance.flink.pipeline;

import conformance.flink.Json;
import java.util.HashMap;
import java.util.Map;

/** What a scenario lets fail in user code. */
final class Failures {

    /** What user code throws. Its text begins with what was made to fail. */
    static final class MadeToFail extends Exception {

        private static final long serialVersionUID = 1L;

        MadeToFail(String what) {
            super(what);
        }
    }

    /** A failure that waits for its point. */
    private record Asked(String target, int number, String point) {}

    /** A fault that is armed. */
    private static final class Fault {
        private int left;

        private Fault(int nth) {
            left = nth;
        }
    }

    private final LiveJob job;
    private final Map<String, Fault> faults = new HashMap<>();
    private Asked waiting;

    Failures(LiveJob job) {
        this.job = job;
    }

    /** Lets one failure wait for its point; it takes the place of another one that waits. */
    synchronized void await(String target, int number, String point) {
        waiting = new Asked(target, number, point);
    }

    synchronized void arm(String place, int nth) {
        faults.put(place, new Fault(nth));
    }

    /** User code is at a place at which a fault may be armed. */
    synchronized void here(String place) throws MadeToFail {
        Fault fault = faults.get(place);
        if (fault != null && --fault.left == 0) {
            faults.remove(place);
            job.signal(Json.tagged("fault-struck").put("place", place).put("kind", "throws"));
            throw new MadeToFail(place);
        }
    }

    /** A task is at a point at which a failure may wait. */
    void here(int task, String point) throws MadeToFail {
        Asked struck = take(task, point);
        if (struck != null) {
            strike(struck, task);
        }
    }

    private synchronized Asked take(int task, String point) {
        if (waiting == null || !waiting.point.equals(point) || !waiting.target.equals("task") || waiting.number != task) {
            return null;
        }
        Asked struck = waiting;
        waiting = null;
        return struck;
    }

    private void strike(Asked struck, int task) throws MadeToFail {
        said(struck.target, struck.number, struck.point);
        throw new MadeToFail(struck.target);
    }

    private void said(String target, int number, String point) {
        job.signal(
                Json.tagged("failure-struck").put("target", target).put("number", number).put("point", point));
    }

    /** Whether something of the target is there that fails now. */
    boolean now(String target, int number) {
        switch (target) {
            case "task":
                return failTask(number);
            case "job":
                return failJob();
            default:
                return false;
        }
    }

    private boolean failTask(int task) {
        if (job.reader(task) != null) {
            job.reader(task).fail(() -> strike(new Asked("task", task, "now"), task));
            return true;
        }
        return job.inMailbox(task, () -> strike(new Asked("task", task, "now"), task));
    }

    private boolean failJob() {
        for (JobPlan.Vertex vertex : job.plan.vertices) {
            SplitAssigner assigner = job.assigner(vertex.number);
            if (assigner != null) {
                said("job", 0, "now");
                assigner.fail(new MadeToFail("job"));
                return true;
            }
        }
        return false;
    }
}
