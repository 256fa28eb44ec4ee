package conformance.flink.job;

/**
 * Wakes up again and again, and prints when it was late: the program was stopped then, or had no core. What stands still
 * meanwhile does so through no fault of Flink.
 */
final class Heartbeat extends Thread {

    private static final long MILLIS = 100;
    /** A delay that is shorter is not printed. */
    private static final long LATE_MILLIS = 250;

    Heartbeat() {
        super("heartbeat");
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            while (true) {
                long due = System.currentTimeMillis() + MILLIS;
                Thread.sleep(MILLIS);
                if (System.currentTimeMillis() - due >= LATE_MILLIS) {
                    Lines.print(Lines.now("paused").put("since", Lines.at(due)));
                }
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
