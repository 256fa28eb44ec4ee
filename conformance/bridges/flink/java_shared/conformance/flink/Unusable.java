package conformance.flink;

import java.util.Arrays;
import java.util.zip.ZipError;

/**
 * Tells apart what Flink does and what only shows that its classes cannot be used: the jar is damaged, or of another
 * version than the one that the adapter was compiled for.
 */
public final class Unusable {

    /** How the reason begins with which such a request is answered. The suite looks for it. */
    private static final String CLASS = "a class cannot be used: ";

    private static final int MOST = 100; // causes of causes: they may go round in circles

    private Unusable() {}

    /** Throws what is wrong with a class, if that has led to this. */
    public static void rethrow(Throwable thrown) {
        Error found = in(thrown);
        if (found != null) {
            throw found;
        }
    }

    /** What is wrong with a class, among this and its causes; null if nothing is. */
    static Error in(Throwable thrown) {
        Throwable one = thrown;
        for (int count = 0; one != null && count < MOST; count++) {
            if (one instanceof LinkageError || one instanceof ZipError) {
                return (Error) one;
            }
            one = one.getCause();
        }
        return null;
    }

    /** The reason why a request cannot be performed at all. */
    static BadRequest reason(Error found) {
        StringBuilder reason = new StringBuilder(CLASS).append(found);
        if (found.getCause() != null) {
            reason.append(", because: ").append(found.getCause());
        }
        // A damaged class may have no name.
        Arrays.stream(found.getStackTrace())
                .filter(one -> !one.getClassName().startsWith("java.") && !one.getClassName().startsWith("jdk."))
                .findFirst()
                .ifPresent(one -> reason.append(", needed by ").append(one.getClassName()));
        return new BadRequest(reason.toString());
    }
}
