package conformance.flink;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;

/** A part of the state of a checkpoint. A {@link TurnThread} that needs it gives its turn away until it is there. */
final class TurnFuture<T> extends CompletableFuture<T> implements RunnableFuture<T> {

    @Override
    public T get() throws InterruptedException, ExecutionException {
        awaitDone();
        return super.get();
    }

    /** Writes the state: it waits until the scenario says that it is written. */
    @Override
    public void run() {
        try {
            awaitDone();
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    /** So that what Flink makes of this future behaves like it. */
    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new TurnFuture<>();
    }

    private void awaitDone() throws InterruptedException {
        while (!isDone()) {
            TurnThread.pause();
        }
    }
}
