package conformance.flink.pipeline;

import conformance.flink.Json;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.util.function.ThrowingRunnable;

/**
 * What the user code of one job and the adapter know of each other. All parts of a job are in one JVM, and find it here
 * by its number. What a task of a job calls that was released has no effect.
 */
final class LiveJob {

    private static final AtomicLong NUMBERS = new AtomicLong();
    /** A watermark says that what was emitted in front of it has arrived. Each one is larger than all before. */
    private static final AtomicLong PROBES = new AtomicLong();

    private static final Map<Long, LiveJob> JOBS = new ConcurrentHashMap<>();

    final long number = NUMBERS.incrementAndGet();

    final JobPlan plan;
    final World world;
    final Failures failures;
    final Restores restored = new Restores();
    /** Grows with everything that user code does. */
    final AtomicLong progress = new AtomicLong();

    /** What a sink has committed. */
    private record Said(ObjectNode signal, int sink, int[] records) {}

    private final Queue<ObjectNode> signals = new ConcurrentLinkedQueue<>();
    private final Queue<Said> commits = new ConcurrentLinkedQueue<>();
    private final AtomicIntegerArray throttled;
    private final AtomicIntegerArray ended;
    private final Map<Integer, MailboxExecutor> mailboxes = new ConcurrentHashMap<>();
    private final Map<Integer, SplitReader> readers = new ConcurrentHashMap<>();
    private final Map<Integer, SplitAssigner> assigners = new ConcurrentHashMap<>();
    private final Map<Integer, SinkOperator> sinks = new ConcurrentHashMap<>();
    private final Map<Integer, List<int[]>> counted = new ConcurrentHashMap<>(); // by task, at its last watermark
    private final List<Said> output = new ArrayList<>(); // what was committed and said
    private final Set<Long> noticed = ConcurrentHashMap.newKeySet();
    private volatile long probe;
    private volatile boolean restores; // whether tasks that begin now restore a checkpoint
    private boolean closed;

    LiveJob(JobPlan plan, World world) {
        this.plan = plan;
        this.world = world;
        throttled = new AtomicIntegerArray(plan.tasks);
        ended = new AtomicIntegerArray(plan.vertices.size());
        failures = new Failures(this);
        JOBS.put(number, this);
    }

    static LiveJob of(long number) {
        LiveJob found = JOBS.get(number);
        if (found == null) {
            throw new IllegalStateException("job " + number + " was released");
        }
        return found;
    }

    // ---- what the adapter does

    boolean isThrottled(int task) {
        return throttled.get(task) != 0;
    }

    boolean isAnyThrottled() {
        for (int task = 0; task < plan.tasks; task++) {
            if (isThrottled(task)) {
                return true;
            }
        }
        return false;
    }

    void throttle(int task, boolean on) {
        throttled.set(task, on ? 1 : 0);
        wake(task);
    }

    /** Lets a task look again at what it may do. */
    void wake(int task) {
        SplitReader reader = readers.get(task);
        if (reader != null) {
            reader.wake();
        }
        inMailbox(task, () -> {});
    }

    /** Whether the task has a mailbox: its operator was opened. */
    boolean inMailbox(int task, ThrowingRunnable<Exception> mail) {
        MailboxExecutor mailbox = mailboxes.get(task);
        if (mailbox == null) {
            return false;
        }
        try {
            mailbox.execute(mail, "a mail of the suite");
            return true;
        } catch (RejectedExecutionException closing) {
            return false;
        }
    }

    void supply(int split, int count) {
        world.supply(split, count);
        readers.values().forEach(SplitReader::wake);
    }

    boolean isEnded(int source) {
        return ended.get(source) != 0;
    }

    /** Whether no more records come. */
    boolean isEnded() {
        return plan.vertices.stream().allMatch(vertex -> !vertex.isSource() || isEnded(vertex.number));
    }

    /** Whether no more records come of one of the sources, at least. */
    boolean isAnyEnded() {
        return plan.vertices.stream().anyMatch(vertex -> vertex.isSource() && isEnded(vertex.number));
    }

    void end(int source) {
        ended.set(source, 1);
        SplitAssigner assigner = assigners.get(source);
        if (assigner != null) {
            assigner.wake();
        }
        readers.values().forEach(SplitReader::wake);
    }

    /** The runs of records that a task had counted at its last watermark. */
    List<int[]> counted(int task) {
        return counted.getOrDefault(task, List.of());
    }

    SplitReader reader(int task) {
        return readers.get(task);
    }

    SplitAssigner assigner(int vertex) {
        return assigners.get(vertex);
    }

    /** Asks for a watermark behind everything that exists. */
    void beginProbe() {
        probe = PROBES.incrementAndGet();
        readers.values().forEach(SplitReader::wake);
    }

    long probe() {
        return probe;
    }

    /** Whether each split is with a reader that has emitted all records of it. {@code finished}: by task. */
    boolean isEmitted(boolean[] finished) {
        for (JobPlan.Vertex vertex : plan.vertices) {
            Map<Integer, Integer> offsets = new HashMap<>();
            boolean all = true;
            for (int subtask = 0; vertex.isSource() && subtask < vertex.parallelism; subtask++) {
                SplitReader reader = readers.get(vertex.firstTask + subtask);
                if (finished[vertex.firstTask + subtask]) {
                    continue;
                }
                if (reader == null) {
                    return false;
                }
                all = false;
                offsets.putAll(reader.offsets());
            }
            for (int split = vertex.firstSplit; !all && split < vertex.firstSplit + vertex.splits; split++) {
                Integer offset = offsets.get(split);
                boolean isRead = offset == null && isEnded(vertex.number); // by a task that has finished
                if (!isRead && (offset == null || offset < world.supplied(split))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Whether the probe has reached all sinks, and nothing is left to be committed of what has completed. */
    boolean hasArrived(boolean[] finished, long completed) {
        for (JobPlan.Vertex vertex : plan.vertices) {
            for (int subtask = 0; vertex.isSink() && subtask < vertex.parallelism; subtask++) {
                int task = vertex.firstTask + subtask;
                SinkOperator sink = sinks.get(task);
                if (!finished[task] && (sink == null || sink.watermark() < probe || sink.owes(completed))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** What user code has said since this was asked last, but for what was committed. */
    List<ObjectNode> takeSignals() {
        List<ObjectNode> taken = new ArrayList<>();
        for (ObjectNode said; (said = signals.poll()) != null; ) {
            taken.add(said);
        }
        return taken;
    }

    /** What was committed since this was asked last. */
    List<ObjectNode> takeCommits() {
        List<ObjectNode> taken = new ArrayList<>();
        for (Said said; (said = commits.poll()) != null; ) {
            taken.add(said.signal);
            output.add(said);
        }
        return taken;
    }

    /** What a sink has committed in this job, as far as it was said. */
    int[] output(int sink) {
        return output.stream()
                .filter(said -> said.sink == sink)
                .flatMapToInt(said -> Arrays.stream(said.records))
                .sorted()
                .toArray();
    }

    /** From now on nothing that the job does has an effect. Its tasks still find it. */
    synchronized void close() {
        closed = true;
    }

    /** It has no task any more. */
    void forget() {
        JOBS.remove(number);
    }

    /** Whether a task was notified that a checkpoint is complete. */
    boolean wasNoticed(long checkpoint) {
        return noticed.contains(checkpoint);
    }

    void restores(boolean now) {
        restores = now;
    }

    boolean restores() {
        return restores;
    }

    // ---- what user code does

    void opened(int task, MailboxExecutor mailbox) {
        mailboxes.put(task, mailbox);
        progress.incrementAndGet();
    }

    void closed(int task, MailboxExecutor mailbox) {
        mailboxes.remove(task, mailbox);
        progress.incrementAndGet();
    }

    void opened(int task, SplitReader reader) {
        readers.put(task, reader);
        progress.incrementAndGet();
    }

    void closed(int task, SplitReader reader) {
        readers.remove(task, reader);
        progress.incrementAndGet();
    }

    /** A task is notified that a checkpoint is complete. */
    void noticed(int task, long checkpoint) {
        noticed.add(checkpoint);
        failures.here(task, "completed");
    }

    void opened(int task, SinkOperator sink) {
        sinks.put(task, sink);
    }

    void closed(int task, SinkOperator sink) {
        sinks.remove(task, sink);
    }

    void counted(int task, List<int[]> runs) {
        counted.put(task, runs);
    }

    void opened(int vertex, SplitAssigner assigner) {
        assigners.put(vertex, assigner);
    }

    void closed(int vertex, SplitAssigner assigner) {
        assigners.remove(vertex, assigner);
    }

    void signal(ObjectNode signal) {
        signals.add(signal);
        progress.incrementAndGet();
    }

    synchronized void commit(World.Name name, int[] records) {
        progress.incrementAndGet();
        if (closed || !world.commit(name, records)) {
            return;
        }
        ObjectNode signal = Json.tagged("committed").put("sink", name.sink());
        signal.putObject("transaction").put("subtask", name.subtask()).put("checkpoint", name.checkpoint());
        signal.set("records", Records.runs(records));
        commits.add(new Said(signal, name.sink(), records));
    }
}
