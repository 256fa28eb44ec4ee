package conformance.flink.pipeline;

import conformance.flink.Subject;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** Says which clusters are given to jobs. The argument is the configuration of a job. */
public final class LostWorker {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        JobPlan plan = new JobPlan(MAPPER.readTree(arguments[0]));
        MiniCluster whole = Clusters.of(plan);
        run(plan, "[\"settle\", \"running\"]", "[\"fail\", \"worker\", 0, \"now\"]", "[\"settle\", \"running\"]");
        System.out.println("a worker was replaced: " + said(plan, whole));
        whole.terminateTaskManager(1).get(); // as it ends after a fatal error
        System.out.println("a worker has ended: " + said(plan, whole));
        MiniCluster second = Clusters.of(plan);
        run(plan, "[\"settle\", \"running\"]", "[\"fail\", \"worker\", 9, \"now\"]"); // there is none
        System.out.println("a worker was not replaced: " + said(plan, second));
        System.exit(0);
    }

    private static void run(JobPlan plan, String... steps) throws Exception {
        Subject job = new PipelineSubject(plan);
        for (String step : steps) {
            call(job, step);
        }
        call(job, "[\"release\"]");
    }

    private static void call(Subject job, String step) throws Exception {
        JsonNode call = MAPPER.readTree(step);
        job.call(call.get(0).textValue(), new Subject.Arguments(call));
    }

    private static String said(JobPlan plan, MiniCluster before) throws Exception {
        return Clusters.of(plan) == before ? "the same cluster" : "another cluster";
    }
}
