package conformance.flink;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The faults that are armed. Whatever Flink calls asks here whether the call fails. */
final class Faults {

    private final Signals signals;
    /** How a call fails, by place. */
    private final Map<String, String> armed = new HashMap<>();
    /** How many calls come before that one, by place. */
    private final Map<String, Long> before = new HashMap<>();

    Faults(Signals signals) {
        this.signals = signals;
    }

    /** Lets a call at this place fail in this way: the next one, if {@code nth} is 1. */
    void arm(String place, String kind, long nth) {
        armed.put(place, kind);
        before.put(place, nth - 1);
    }

    boolean isArmed(String place) {
        return armed.containsKey(place);
    }

    /**
     * Lets a request of a subpartition or of exclusive buffers throw, whichever channel makes it; returns false for other
     * places and kinds.
     */
    boolean armSetup(String place, String kind, long nth) {
        boolean isKnown = place.equals(FaultyPartitions.PLACE) || place.equals(FaultySegments.PLACE);
        if (!isKnown || !kind.equals("throws")) {
            return false;
        }
        arm(place, kind, nth);
        return true;
    }

    /** Called when Flink makes a call at this place. Returns how it fails, which is signalled; null if it does not. */
    String strike(String place) {
        String kind = armed.get(place);
        if (kind == null) {
            return null;
        }
        long left = before.get(place);
        if (left > 0) {
            before.put(place, left - 1);
            return null;
        }
        armed.remove(place);
        if (!kind.equals("short")) { // which is no failure
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
