package conformance.flink;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The faults that are armed. Whatever Flink calls asks here whether the call fails. */
final class Faults {

    private final Signals signals;
    /** How the next call fails, by place. */
    private final Map<String, String> armed = new HashMap<>();

    Faults(Signals signals) {
        this.signals = signals;
    }

    /** Lets the next call at this place fail in this way. */
    void arm(String place, String kind) {
        armed.put(place, kind);
    }

    /**
     * Lets the next request of a subpartition or of exclusive buffers throw, whichever channel makes it; answers false
     * for other places and kinds.
     */
    boolean armSetup(String place, String kind) {
        boolean isKnown = place.equals(FaultyPartitions.PLACE) || place.equals(FaultySegments.PLACE);
        if (!isKnown || !kind.equals("throws")) {
            return false;
        }
        arm(place, kind);
        return true;
    }

    /** Called when Flink makes a call at this place. Returns how it fails, which is signalled; null if it does not. */
    String strike(String place) {
        String kind = armed.remove(place);
        if (kind != null) {
            signals.faultStruck(place, kind);
        }
        return kind;
    }

    /** As {@link #strike}, where only an unchecked exception can be thrown. */
    void throwUnchecked(String place) {
        if (strike(place) != null) {
            throw new RuntimeException(failure(place));
        }
    }

    /** What a call at this place throws. */
    static IOException failure(String place) {
        return new IOException("the call at the place " + place + " has failed");
    }
}
