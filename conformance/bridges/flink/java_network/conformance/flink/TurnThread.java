package conformance.flink;

/** A thread that runs only while it is asked to, until it ends or pauses. */
public final class TurnThread {

    private static final ThreadLocal<TurnThread> CURRENT = new ThreadLocal<>();

    private final Runnable body;
    private final String name;
    private Thread thread;
    private boolean hasTurn;
    private boolean hasEnded;
    private Throwable thrown;

    public TurnThread(Runnable body, String name) {
        this.body = body;
        this.name = name;
    }

    public synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Lets the thread run as far as it can. Throws what has ended it, if Flink did not expect that. */
    public synchronized void run() throws InterruptedException {
        if (hasEnded) {
            return;
        }
        if (thread == null) {
            thread = new Thread(this::live, name);
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

    /** Called by such a thread: it waits until it is asked to run. */
    public static void pause() throws InterruptedException {
        TurnThread current = CURRENT.get();
        if (current == null) {
            throw new AssertionError("this thread has no turns, so it must not wait");
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
