package conformance.flink.job;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** The last operator. What reached it is in its state, so that a restart rolls it back, and is reported at the end. */
final class Collector extends AbstractStreamOperator<Integer>
        implements OneInputStreamOperator<Integer, Integer>, BoundedOneInput {

    private static final long serialVersionUID = 1L;

    private transient ListState<int[]> kept;
    private transient Ledger units;

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        ListStateDescriptor<int[]> name =
                new ListStateDescriptor<>("units", PrimitiveArrayTypeInfo.INT_PRIMITIVE_ARRAY_TYPE_INFO);
        kept = context.getOperatorStateStore().getListState(name);
        List<int[]> found = new ArrayList<>();
        kept.get().forEach(found::add);
        units = new Ledger(found.stream().flatMapToInt(Arrays::stream).toArray());
    }

    @Override
    public void processElement(StreamRecord<Integer> element) {
        units.add(element.getValue());
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        kept.update(List.of(units.copy()));
    }

    @Override
    public void endInput() {
        Cuts.result(subtask(), units.copy());
    }

    private int subtask() {
        return getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
    }
}
