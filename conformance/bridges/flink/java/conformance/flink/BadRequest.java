package conformance.flink;

/** The request is not one of this protocol. Never thrown because of anything that Flink did. */
final class BadRequest extends Exception {

    private static final long serialVersionUID = 1L;

    BadRequest(String reason) {
        super(reason);
    }
}
