package conformance.flink.pipeline;

import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailbox;

/** The operator of a task that has inputs. A task that is throttled stands still behind a record, not inside one. */
abstract class TaskOperator extends AbstractStreamOperator<byte[]> {

    private static final long serialVersionUID = 1L;

    /**
     * A task that restores ends its loop between two records, and runs only then. So while it restores, an operator
     * that stands still takes a record now and then. It takes no mail, since the one with which the restore ends would
     * not be seen by the loop, which goes on as long as there are records and no mails.
     */
    private static final long RESTORING_NANOS = 2_000_000;

    private final long job;
    private final int vertex;
    private transient MailboxExecutor mailbox;
    protected transient LiveJob live;
    protected transient int task;

    TaskOperator(long job, int vertex) {
        this.job = job;
        this.vertex = vertex;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        live = LiveJob.of(job);
        task = live.plan.vertices.get(vertex).firstTask + subtask();
        live.failures.here("operators-open");
        if (context.isRestored()) {
            live.failures.here(task, "in-restore");
        }
    }

    @Override
    public void open() throws Exception {
        super.open();
        // That of the task, and not that of the operator, which leaves out barriers: nothing is chained to this
        // operator, so that nothing is half done while it stands still.
        mailbox = getContainingTask().getMailboxExecutorFactory().createExecutor(TaskMailbox.MIN_PRIORITY);
        live.opened(task, mailbox);
    }

    protected int subtask() {
        return getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
    }

    protected int vertex() {
        return vertex;
    }

    /** Passes a record on. */
    protected void pass(StreamRecord<byte[]> record) throws Exception {
        output.collect(record);
        done();
    }

    /** A record was processed. Mails and priority events go on while the task stands still. */
    protected void done() throws Exception {
        live.progress.incrementAndGet();
        if (live.isThrottled(task) && !getContainingTask().isRunning()) {
            LockSupport.parkNanos(RESTORING_NANOS);
            return;
        }
        while (live.isThrottled(task)) {
            mailbox.yield();
        }
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        live.failures.here("operator-snapshot");
        live.failures.cut(task, context.getCheckpointId());
        super.snapshotState(context);
        live.progress.incrementAndGet();
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) throws Exception {
        live.noticed(task, checkpoint);
        super.notifyCheckpointComplete(checkpoint);
        live.progress.incrementAndGet();
    }

    @Override
    public void close() throws Exception {
        if (live != null) {
            live.closed(task, mailbox);
        }
        super.close();
    }
}
