package conformance.flink.job;

import conformance.flink.Json;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CheckpointStatsStatus;
import org.apache.flink.runtime.checkpoint.FailedCheckpointStats;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.ErrorInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Prints how checkpoints ended, as the statistics of the job have it, with the ledgers that were put into them. */
final class Watch {

    private final Settings settings;
    private final Set<Long> known = new HashSet<>();
    private final Map<String, int[]> printed = new HashMap<>();
    private long lastError;
    private int completed;

    Watch(Settings settings) {
        this.settings = settings;
    }

    int completed() {
        return completed;
    }

    void look(AccessExecutionGraph graph) {
        ErrorInfo error = graph.getFailureInfo();
        if (error != null && error.getTimestamp() != lastError) {
            lastError = error.getTimestamp();
            String text = error.getExceptionAsString().lines().limit(40).collect(Collectors.joining("\n"));
            Lines.print(Lines.now("exception").put("since", Lines.at(lastError)).put("text", text));
        }
        CheckpointStatsSnapshot snapshot = graph.getCheckpointStatsSnapshot();
        if (snapshot == null) {
            return;
        }
        AbstractCheckpointStats[] all =
                snapshot.getHistory().getCheckpoints().stream()
                        .filter(one -> one.getStatus() != CheckpointStatsStatus.IN_PROGRESS)
                        .filter(one -> known.add(one.getCheckpointId()))
                        .toArray(AbstractCheckpointStats[]::new);
        Arrays.sort(all, (a, b) -> Long.compare(a.getCheckpointId(), b.getCheckpointId()));
        for (AbstractCheckpointStats one : all) {
            if (one.getStatus() == CheckpointStatsStatus.COMPLETED) {
                completed++;
                Lines.print(completed(one));
            } else {
                Lines.print(
                        line("failed", one).put("reason", ((FailedCheckpointStats) one).getFailureMessage()));
            }
            Cuts.forget(one.getCheckpointId());
        }
    }

    private static ObjectNode line(String type, AbstractCheckpointStats one) {
        return Json.tagged(type)
                .put("at", Lines.at(one.getTriggerTimestamp() + Math.max(0, one.getEndToEndDuration())))
                .put("triggered", Lines.at(one.getTriggerTimestamp()))
                .put("id", one.getCheckpointId())
                .put("savepoint", one.getProperties().isSavepoint());
    }

    private ObjectNode completed(AbstractCheckpointStats one) {
        long id = one.getCheckpointId();
        ObjectNode line = line("completed", one).put("unaligned", one.isUnalignedCheckpoint());
        ArrayNode subtasks = line.putArray("subtasks");
        EnumeratorState enumerator = Cuts.enumerator(id);
        for (int subtask = 0; subtask < settings.parallelism; subtask++) {
            ObjectNode entry = subtasks.addObject();
            ReaderState reader = Cuts.reader(id, subtask);
            if (reader == null) {
                reader = Cuts.finished(id, subtask);
                entry.put("finished", reader != null);
            } else {
                entry.put("finished", false);
            }
            put(entry, subtask, "sent", enumerator == null ? null : enumerator.sent[subtask]);
            put(entry, subtask, "received", reader == null ? null : reader.received);
            put(entry, subtask, "reports_received", enumerator == null ? null : enumerator.reports[subtask]);
            put(entry, subtask, "reports_sent", reader == null ? null : reader.reported);
        }
        return line;
    }

    /** Says how a ledger differs from what was printed as this ledger before, so that lines do not grow for ever. */
    private void put(ObjectNode entry, int subtask, String name, Ledger ledger) {
        if (ledger == null) {
            entry.putNull(name);
            return;
        }
        int[] entries = ledger.copy();
        int[] before = printed.put(name + subtask, entries);
        int keep = before == null ? 0 : Arrays.mismatch(before, entries);
        keep = keep < 0 ? entries.length : keep;
        int[] add = Arrays.copyOfRange(entries, keep, entries.length);
        entry.putObject(name).put("keep", keep).set("add", Lines.array(add));
    }
}
