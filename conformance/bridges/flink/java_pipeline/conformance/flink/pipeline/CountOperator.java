package conformance.flink.pipeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Notes by key which records it has counted, and passes them on. */
final class CountOperator extends TaskOperator implements OneInputStreamOperator<byte[], byte[]> {

    private static final long serialVersionUID = 1L;

    /** What user code costs: data is still in flight when a barrier comes, although nobody stands still. */
    private static final long COST_NANOS = Long.getLong("conformance.counting.nanos");

    private static final String NAME = "counted";

    /** By split the first and the last record of each run, in which each record is the next one of this key. */
    private transient MapState<Integer, int[]> counted;

    CountOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        counted =
                context.getKeyedStateStore()
                        .getMapState(
                                new MapStateDescriptor<>(
                                        NAME, Types.INT, PrimitiveArrayTypeInfo.INT_PRIMITIVE_ARRAY_TYPE_INFO));
    }

    @Override
    public void processElement(StreamRecord<byte[]> record) throws Exception {
        int number = Records.number(record.getValue());
        int split = number / Records.OF_A_SPLIT;
        counted.put(split, with(counted.get(split), number));
        LockSupport.parkNanos(COST_NANOS);
        pass(record);
    }

    private static int[] with(int[] runs, int number) {
        if (runs == null) {
            return new int[] {number, number};
        }
        boolean isNext = runs[runs.length - 1] + Records.KEYS == number;
        int[] more = Arrays.copyOf(runs, runs.length + (isNext ? 0 : 2));
        more[more.length - 1] = number;
        if (!isNext) {
            more[more.length - 2] = number;
        }
        return more;
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        super.processWatermark(mark);
        live.counted(task, all());
    }

    /** The runs of all keys, those of one key and split in the order in which they were counted. */
    private List<int[]> all() throws Exception {
        List<Object> keys;
        try (Stream<Object> every = getKeyedStateBackend().getKeys(NAME, VoidNamespace.INSTANCE)) {
            keys = every.toList();
        }
        List<int[]> all = new ArrayList<>();
        for (Object key : keys) {
            setCurrentKey(key);
            for (Map.Entry<Integer, int[]> one : counted.entries()) {
                int[] runs = one.getValue();
                for (int at = 0; at < runs.length; at += 2) {
                    all.add(new int[] {runs[at], runs[at + 1]});
                }
            }
        }
        return all;
    }
}
