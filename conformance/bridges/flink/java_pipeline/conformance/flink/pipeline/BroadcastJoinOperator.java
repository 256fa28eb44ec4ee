package conformance.flink.pipeline;

import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Passes the records of its first input on, and keeps those of its second one as broadcast state. */
final class BroadcastJoinOperator extends TaskOperator implements TwoInputStreamOperator<byte[], byte[], byte[]> {

    private static final long serialVersionUID = 1L;

    private transient BroadcastState<Integer, Integer> kept;

    BroadcastJoinOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        kept =
                context.getOperatorStateStore()
                        .getBroadcastState(new MapStateDescriptor<>("kept", Types.INT, Types.INT));
    }

    @Override
    public void processElement1(StreamRecord<byte[]> record) throws Exception {
        pass(record);
    }

    @Override
    public void processElement2(StreamRecord<byte[]> record) throws Exception {
        int number = Records.number(record.getValue());
        Integer before = kept.get(number);
        kept.put(number, before == null ? 1 : before + 1);
        done();
    }
}
