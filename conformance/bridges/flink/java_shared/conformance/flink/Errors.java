package conformance.flink;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Translates exceptions of Flink to errors of the port. */
public final class Errors {

    private static final Map<String, CheckpointFailureReason> REASONS =
            Map.ofEntries(
                    Map.entry("declined", CheckpointFailureReason.CHECKPOINT_DECLINED),
                    Map.entry("declined-task-not-ready", CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY),
                    Map.entry("declined-subsumed", CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED),
                    Map.entry(
                            "declined-on-cancellation-barrier",
                            CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER),
                    Map.entry(
                            "declined-input-end-of-stream",
                            CheckpointFailureReason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM),
                    Map.entry("expired", CheckpointFailureReason.CHECKPOINT_EXPIRED),
                    Map.entry("subsumed", CheckpointFailureReason.CHECKPOINT_SUBSUMED),
                    Map.entry("shared-stream", CheckpointFailureReason.CHANNEL_STATE_SHARED_STREAM_EXCEPTION),
                    Map.entry("task-closing", CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING),
                    Map.entry("io-exception", CheckpointFailureReason.IO_EXCEPTION),
                    Map.entry("async-exception", CheckpointFailureReason.CHECKPOINT_ASYNC_EXCEPTION),
                    Map.entry("finalize-failure", CheckpointFailureReason.FINALIZE_CHECKPOINT_FAILURE));

    private static final Map<CheckpointFailureReason, String> NAMES = new HashMap<>();

    static {
        REASONS.forEach((name, reason) -> NAMES.put(reason, name));
    }

    private Errors() {}

    public static CheckpointFailureReason reason(String name) throws BadRequest {
        CheckpointFailureReason reason = REASONS.get(name);
        if (reason == null) {
            throw new BadRequest("unknown checkpoint failure reason \"" + name + "\"");
        }
        return reason;
    }

    /** The name of a reason in the port; null if it has none. */
    public static String name(CheckpointFailureReason reason) {
        return NAMES.get(reason);
    }

    public static ObjectNode describe(Throwable thrown) {
        String kind = kind(thrown);
        boolean speaks = !kind.equals("crashed") && thrown.getMessage() != null;
        ObjectNode error =
                Json.object().put("kind", kind).put("reason", speaks ? thrown.getMessage() : thrown.toString());
        if (kind.equals("checkpoint")) {
            error.put("checkpoint_reason", NAMES.get(((CheckpointException) thrown).getCheckpointFailureReason()));
        }
        return error;
    }

    private static String kind(Throwable thrown) {
        if (isKeptError(thrown)) {
            return kind(thrown.getCause());
        }
        if (thrown.getClass().getSimpleName().equals("BufferReorderingException")) { // private in RemoteInputChannel
            return "reordering";
        }
        if (thrown instanceof CancelTaskException || isRefusedByWorker(thrown)) {
            return "released";
        }
        if (isTooParallel(thrown) || thrown instanceof IllegalConfigurationException) {
            return "config";
        }
        // Only what the checks of Flink throw. Their subclasses mean something else, such as a buffer that is recycled
        // twice (IllegalReferenceCountException).
        if (thrown.getClass() == IllegalStateException.class || isMissingInDeque(thrown) || isPointwise(thrown)) {
            return "state";
        }
        if (thrown.getClass() == IllegalArgumentException.class) {
            return "argument";
        }
        if (thrown instanceof IOException || (thrown.getClass() == RuntimeException.class // a wrapper
                        && thrown.getCause() instanceof IOException)) {
            return "io";
        }
        if (thrown instanceof CheckpointException
                && NAMES.containsKey(((CheckpointException) thrown).getCheckpointFailureReason())) {
            return "checkpoint";
        }
        return "crashed";
    }

    /** What {@code InputChannel.checkError} throws if the error that it has kept is no exception of input and output. */
    private static boolean isKeptError(Throwable thrown) {
        return thrown.getClass() == IOException.class
                && thrown.getCause() != null
                && thrown.getStackTrace()[0].getMethodName().equals("checkError");
    }

    /** What {@code ChannelStateWriterImpl.enqueue} throws if the executor takes no request of its subtask any more. */
    private static boolean isRefusedByWorker(Throwable thrown) {
        return thrown.getClass() == RuntimeException.class
                && thrown.getStackTrace()[0].getMethodName().equals("enqueue");
    }

    /** What {@code PrioritizedDeque.getAndRemove} throws if it does not contain the element that is looked for. */
    private static boolean isMissingInDeque(Throwable thrown) {
        return thrown.getClass() == NoSuchElementException.class
                && thrown.getStackTrace()[0].getMethodName().equals("getAndRemove");
    }

    /** What {@code StateAssignmentOperation} throws if the parallelism of a vertex does not fit that of its state. */
    private static boolean isTooParallel(Throwable thrown) {
        return thrown.getClass() == IllegalStateException.class
                && thrown.getStackTrace()[0].getMethodName().equals("checkParallelismPreconditions");
    }

    /** What {@code SubtaskStateMapper.UNSUPPORTED} throws: the state of an edge cannot be rescaled. */
    private static boolean isPointwise(Throwable thrown) {
        return thrown.getClass() == UnsupportedOperationException.class
                && thrown.getStackTrace()[0].getMethodName().equals("getOldSubtasks");
    }
}
