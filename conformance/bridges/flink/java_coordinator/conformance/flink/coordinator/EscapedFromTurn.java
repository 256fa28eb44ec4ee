package conformance.flink.coordinator;

/**
 * An exception that escaped from an action of the main thread. The job master only logs it and goes on ({@code
 * PekkoRpcActor.handleRunAsync}).
 */
final class EscapedFromTurn extends Exception {

    private static final long serialVersionUID = 1L;

    EscapedFromTurn(Throwable escaped) {
        super(escaped.toString(), escaped);
    }
}
