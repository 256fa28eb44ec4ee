package conformance.flink;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.Cancellable;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.DelayableTimer;
import org.apache.flink.util.clock.ManualClock;

/**
 * The timers of a task, in place of its timer service and its mailbox ({@code
 * BarrierAlignmentUtil.createRegisterTimerCallback}). Time passes only when it is asked to.
 */
final class ManualTimers implements DelayableTimer {

    final ManualClock clock = new ManualClock();

    private final List<Timer> timers = new ArrayList<>();

    private static final class Timer {
        private final Callable<?> action;
        private final long due;

        private Timer(Callable<?> action, long due) {
            this.action = action;
            this.due = due;
        }
    }

    @Override
    public Cancellable registerTask(Callable<?> action, Duration delay) {
        Timer timer = new Timer(action, clock.absoluteTimeMillis() + delay.toMillis());
        timers.add(timer);
        return () -> timers.remove(timer);
    }

    /** Time passes, and the actions of all timers that are due now are called. */
    void advance(long milliseconds) throws Exception {
        clock.advanceTime(Duration.ofMillis(milliseconds));
        for (Timer timer : new ArrayList<>(timers)) {
            if (timer.due <= clock.absoluteTimeMillis() && timers.remove(timer)) {
                timer.action.call();
            }
        }
    }

    /** How many timers are neither called nor cancelled. */
    int count() {
        return timers.size();
    }
}
