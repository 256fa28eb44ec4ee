package conformance.flink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The folder into which Flink writes large records of which a part was read. Calls fail there as they do on a machine: the
 * folder is gone, the thread that writes is interrupted, or the file is gone. Flink does not say whether it can delete.
 */
final class RecordFiles {

    static final Map<String, Set<String>> PLACES =
            Map.of(
                    "record-file-create", Set.of("throws"),
                    "record-file-write", Set.of("throws"),
                    "record-file-read", Set.of("throws"));

    private static final int LEAST = 100 << 10; // no smaller record goes to a file
    private static final String CREATE = "record-file-create";
    private static final String WRITE = "record-file-write";
    private static final String READ = "record-file-read";

    private static final List<String> ALL = List.of(CREATE, WRITE, READ);

    private final Faults faults;
    private final Path folder = Path.of(System.getProperty("java.io.tmpdir"), "records-" + UUID.randomUUID());
    private boolean isMade;
    /** Whether the call in progress may fail. */
    private boolean mayFail;
    /** Those that were left when the folder was deleted. */
    private int left;

    RecordFiles(Faults faults) {
        this.faults = faults;
    }

    String[] folders() {
        return new String[] {folder.toString()};
    }

    /**
     * Whether the next call at this place can fail, if there are records of up to so many bytes. A folder with files cannot
     * be gone.
     */
    boolean canFail(String place, long nth, int largest) throws IOException {
        return nth == 1 && largest > LEAST && (!place.equals(CREATE) || list().isEmpty());
    }

    /** The calling thread is about to hand bytes to Flink, which may add them to a record in a file. */
    void before() throws IOException {
        if (!isMade) {
            Files.createDirectory(folder);
            isMade = true;
        }
        mayFail = ALL.stream().anyMatch(faults::isArmed);
        if (faults.isArmed(CREATE)) {
            Files.deleteIfExists(folder);
        } else if (faults.isArmed(READ)) {
            for (Path file : list()) {
                Files.delete(file); // who writes to it notices nothing
            }
        }
        if (faults.isArmed(WRITE)) {
            Thread.currentThread().interrupt();
        }
    }

    /** Flink has dealt with them, and has thrown this, or null. */
    void after(Throwable thrown) throws IOException {
        if (!mayFail) {
            return;
        }
        mayFail = false;
        Thread.interrupted();
        Files.createDirectories(folder);
        String place = thrown == null ? null : place(thrown);
        if (place != null && faults.isArmed(place)) {
            faults.strike(place);
        }
    }

    private static String place(Throwable thrown) {
        if (thrown instanceof ClosedByInterruptException) {
            return WRITE;
        }
        if (thrown instanceof FileNotFoundException) {
            return READ;
        }
        boolean creates =
                Arrays.stream(thrown.getStackTrace())
                        .anyMatch(one -> one.getMethodName().equals("createSpillingChannel"));
        return creates ? CREATE : null;
    }

    int count() throws IOException {
        return left + list().size();
    }

    /** Deletes the folder. What was left in it is counted on. */
    void close() throws IOException {
        for (Path file : list()) {
            Files.delete(file);
            left++;
        }
        Files.deleteIfExists(folder);
        isMade = false;
    }

    private List<Path> list() throws IOException {
        if (!isMade) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.collect(Collectors.toList());
        }
    }
}
