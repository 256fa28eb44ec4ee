package conformance.flink;

import java.util.Optional;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;
import org.apache.flink.util.ExceptionUtils;

/**
 * Flink's mailbox, in which the task's thread stops: when a turn has run one mail or one default action and another
 * could follow, and when there is nothing to do.
 */
public final class SteppedMailbox extends TaskMailboxImpl {

    private boolean hasActed = true; // so that it stops before its first turn
    private boolean hasTried; // the default action
    private boolean isFree;
    private Mail ownMail;
    private boolean takesNextMail;

    /** A mailbox of this thread. */
    public SteppedMailbox() {
        super(Thread.currentThread());
    }

    // ---- the scenario

    /** Called before the task's thread goes on. */
    void beginTurn() {
        hasActed = false;
        hasTried = false;
    }

    /** Whether a mail was run in this turn, or an element taken. */
    boolean hasActed() {
        return hasActed;
    }

    /** From now on the thread does not stop. If it finds nothing to do it is interrupted, as by the canceler of a task. */
    void free() {
        isFree = true;
    }

    /** The mail that this puts into the mailbox is run next, as if it had come before all others that wait now. */
    void runNext(Runnable puts) {
        takesNextMail = true;
        puts.run();
    }

    // ---- the task's thread

    /** The task's thread is about to perform the default action. */
    public void beforeDefaultAction() {
        if (hasActed || hasTried) {
            pause();
        }
        hasTried = true;
    }

    /** The default action has taken an element. */
    public void tookElement() {
        hasActed = true;
    }

    @Override
    public void put(Mail mail) {
        if (takesNextMail) {
            takesNextMail = false;
            ownMail = mail;
        } else {
            super.put(mail);
        }
    }

    @Override
    public Optional<Mail> tryTakeFromBatch() {
        return inItsTurn(super.tryTakeFromBatch());
    }

    @Override
    public Optional<Mail> tryTake(int priority) {
        return inItsTurn(super.tryTake(priority));
    }

    /** Waits for a mail. */
    @Override
    public Mail take(int priority) throws InterruptedException {
        while (true) {
            Optional<Mail> mail = tryTake(priority);
            if (mail.isPresent()) {
                return mail.get();
            }
            if (isFree) {
                throw new InterruptedException();
            }
            pause();
        }
    }

    private Optional<Mail> inItsTurn(Optional<Mail> mail) {
        if (mail.isPresent()) {
            if (hasActed) {
                pause();
            }
            hasActed = true;
        }
        return mail;
    }

    private void pause() {
        while (!isFree) {
            try {
                TurnThread.pause();
                if (ownMail == null) {
                    return;
                }
                Mail mail = ownMail;
                ownMail = null;
                mail.run();
            } catch (Exception failed) {
                ExceptionUtils.rethrow(failed);
            }
        }
    }
}
