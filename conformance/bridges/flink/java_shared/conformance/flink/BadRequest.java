package conformance.flink;

/** The request is wrong. It is never thrown for an error of Flink. */
public final class BadRequest extends Exception {

    private static final long serialVersionUID = 1L;

    public BadRequest(String reason) {
        super(reason);
    }
}
