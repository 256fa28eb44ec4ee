package conformance.flink.pipeline;

import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.runtime.executiongraph.ErrorInfo;
import org.apache.flink.util.SerializedThrowable;

/** Says which causes of failed tasks are reported. */
public final class Causes {

    public static void main(String[] arguments) {
        Throwable made = new Failures.MadeToFail("task");
        Throwable suppresses = new IllegalStateException("on its own");
        suppresses.addSuppressed(made);
        Throwable suppressed = new Failures.MadeToFail("task");
        suppressed.addSuppressed(new IllegalStateException("while it cleans up"));
        Map<String, Throwable> thrown = new TreeMap<>();
        thrown.put("1 made", made);
        thrown.put("2 caused", new IllegalStateException("Flink", new RuntimeException(made)));
        thrown.put("3 with another one suppressed", suppressed);
        thrown.put("4 suppressed", suppresses);
        thrown.put("5 suppressed by a cause", new RuntimeException("Flink", suppresses));
        thrown.forEach(
                (name, one) -> {
                    ErrorInfo error = new ErrorInfo(new SerializedThrowable(one), 1);
                    System.out.println(name + ": " + Watch.text(error).split("\n")[0]);
                });
    }
}
