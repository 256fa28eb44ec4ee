package conformance.flink.coordinator;

import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.concurrent.ComponentMainThreadExecutor;

/** The main thread of the job master as a queue: what is executed in it runs when it is asked to, one action a turn. */
final class MainThread implements ComponentMainThreadExecutor {

    private final Signals signals;
    private final ArrayDeque<Runnable> queue = new ArrayDeque<>();
    private boolean inside;

    MainThread(Signals signals) {
        this.signals = signals;
    }

    /** Runs the oldest action. */
    void turn() throws EscapedFromTurn {
        Runnable oldest = queue.remove();
        inside = true;
        try {
            oldest.run();
        } catch (Throwable escaped) {
            throw new EscapedFromTurn(escaped);
        } finally {
            inside = false;
        }
    }

    /** What the scheduler does in a turn of its own. */
    interface Action {
        void run() throws Exception;
    }

    /** Runs an action of the scheduler now. */
    void within(Action action) throws Exception {
        inside = true;
        try {
            action.run();
        } finally {
            inside = false;
        }
    }

    void clear() {
        queue.clear();
    }

    @Override
    public void execute(Runnable action) {
        queue.add(action);
        signals.turnQueued();
    }

    @Override
    public void assertRunningInMainThread() {
        if (!inside) {
            throw new AssertionError("not in the main thread of the job master");
        }
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> action, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable action, long initial, long period, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable action, long initial, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }
}
