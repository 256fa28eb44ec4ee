package conformance.flink.pipeline;

import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Counts records by key, and passes them on. */
final class CountOperator extends TaskOperator implements OneInputStreamOperator<byte[], byte[]> {

    private static final long serialVersionUID = 1L;

    /** What user code costs: data is still in flight when a barrier comes, although nobody stands still. */
    private static final long COST_NANOS = Long.getLong("conformance.counting.nanos");

    private transient ValueState<Integer> count;

    CountOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        count = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("count", Types.INT));
    }

    @Override
    public void processElement(StreamRecord<byte[]> record) throws Exception {
        Integer before = count.value();
        count.update(before == null ? 1 : before + 1);
        LockSupport.parkNanos(COST_NANOS);
        pass(record);
    }
}
