package conformance.flink.pipeline;

import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Passes the records of two inputs on, which Flink reads in turn. */
final class TwoInputOperator extends TaskOperator implements TwoInputStreamOperator<byte[], byte[], byte[]> {

    private static final long serialVersionUID = 1L;

    TwoInputOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void processElement1(StreamRecord<byte[]> record) throws Exception {
        pass(record);
    }

    @Override
    public void processElement2(StreamRecord<byte[]> record) throws Exception {
        pass(record);
    }
}
