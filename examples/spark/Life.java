import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What user code knows of the life that runs now: its folder, its knobs, and where it is to die. */
final class Life {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static volatile Life now;

    final Path folder;
    final int parallelism;
    final String bug;
    private final JsonNode plan;
    private final String[] armed;
    private final Path notes;
    private final boolean restored;
    private final AtomicInteger calls = new AtomicInteger();
    private final Set<Long> seen = ConcurrentHashMap.newKeySet();
    private final List<String>[] lines;
    private final long[] sizes;
    private String firstBatch;

    @SuppressWarnings("unchecked")
    Life(String request) throws IOException {
        JsonNode asked = JSON.readTree(request);
        folder = Path.of(asked.get("folder").asText());
        plan = asked.get("plan");
        parallelism = asked.get("parallelism").asInt();
        bug = asked.get("bug").asText();
        armed = asked.get("armed").asText().split(":");
        notes = Path.of(asked.get("notes").asText());
        Path commits = folder.resolve("checkpoint/commits");
        try (var found = Files.exists(commits) ? Files.list(commits) : java.util.stream.Stream.<Path>empty()) {
            restored = found.anyMatch(one -> !one.getFileName().toString().startsWith("."));
        }
        lines = new List[splits()];
        sizes = new long[splits()];
        if (restored) {
            note("restored");
        }
        now = this;
    }

    static Life now() {
        return now;
    }

    int splits() {
        return plan.get("splits").asInt();
    }

    int batch() {
        return knob("batch").asInt();
    }

    boolean restored() {
        return restored;
    }

    JsonNode knob(String name) {
        return plan.get("knobs").get(name);
    }

    /** Returns whether this is the first time in this life that a key is counted. */
    boolean isFirst(long key) {
        return seen.add(key);
    }

    /** Returns whether a batch of the source that ends so is the first of this life. Spark asks for it more than once. */
    synchronized boolean isInFirstBatch(String end) {
        if (firstBatch == null) {
            firstBatch = end;
        }
        return firstBatch.equals(end);
    }

    /** Returns whether the adapter was asked to stop this life. */
    boolean isToStop() {
        return Files.exists(folder.resolve("stop"));
    }

    boolean isEnded(int split) {
        return Files.exists(folder.resolve("in/" + split + ".end"));
    }

    /** Returns the whole lines that a split has so far. */
    synchronized List<String> lines(int split) {
        try {
            Path path = folder.resolve("in/" + split + ".jsonl");
            if (lines[split] == null || Files.size(path) != sizes[split]) {
                String text = Files.readString(path);
                sizes[split] = text.length();
                lines[split] = text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
            }
            return lines[split];
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the id and the key of a record. */
    static Object[] fields(String line) {
        try {
            JsonNode found = JSON.readTree(line);
            return new Object[] {found.get("id").asLong(), found.get("key").asLong()};
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void note(String text) {
        try {
            Files.writeString(notes, text + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * User code has come to a place. At the call that is armed it throws, or it stands still: the suite copies what a kill
     * would leave now, and ends the query. Only with the knob "host dies" it ends the process, which is dear.
     */
    void here(String place) {
        if (!place.equals(armed[0]) || calls.incrementAndGet() != Integer.parseInt(armed[2])) {
            return;
        }
        note("struck " + place);
        if (armed[1].equals("throws")) {
            throw new IllegalStateException("thrown at " + place);
        }
        if (knob("host dies").asBoolean()) {
            Runtime.getRuntime().halt(137);
        }
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the life is over", error);
        }
    }
}
