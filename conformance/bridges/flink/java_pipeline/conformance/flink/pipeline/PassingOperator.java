package conformance.flink.pipeline;

import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Passes every record on: a map, or a union. */
final class PassingOperator extends TaskOperator implements OneInputStreamOperator<byte[], byte[]> {

    private static final long serialVersionUID = 1L;

    PassingOperator(long job, int vertex) {
        super(job, vertex);
    }

    @Override
    public void processElement(StreamRecord<byte[]> record) throws Exception {
        pass(record);
    }
}
