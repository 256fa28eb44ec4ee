package conformance.flink;

/** A thread that runs only while it is told to, until it ends or must wait for a {@link TurnFuture}. */
public final class TurnThread {

    private static final ThreadLocal<TurnThread> CURRENT = new ThreadLocal<>();

    private final Runnable body;
    private Thread thread;
    private boolean hasTurn;
    private boolean hasEnded;
    private Throwable thrown;

    public TurnThread(Runnable body) {
        this.body = body;
    }

    /** Lets the thread run as far as it can. Throws what has ended it, if Flink did not expect that. */
    public synchronized void run() throws InterruptedException {
        if (hasEnded) {
            return;
        }
        if (thread == null) {
            thread = new Thread(this::live, "asynchronous part of a checkpoint");
            thread.setDaemon(true);
            thread.start();
        }
        hasTurn = true;
        notifyAll();
        while (hasTurn) {
            wait();
        }
        if (thrown != null) {
            throw new AssertionError(thrown);
        }
    }

    /** Called by such a thread: it waits until it is told to run. */
    static void pause() throws InterruptedException {
        TurnThread current = CURRENT.get();
        if (current == null) {
            throw new AssertionError("only an asynchronous part waits for state that is not final");
        }
        current.waitForTurn();
    }

    private void live() {
        CURRENT.set(this);
        try {
            body.run();
        } catch (Throwable unexpected) {
            thrown = unexpected;
        }
        end();
    }

    private synchronized void end() {
        hasEnded = true;
        hasTurn = false;
        notifyAll();
    }

    private synchronized void waitForTurn() throws InterruptedException {
        hasTurn = false;
        notifyAll();
        while (!hasTurn) {
            wait();
        }
    }
}
