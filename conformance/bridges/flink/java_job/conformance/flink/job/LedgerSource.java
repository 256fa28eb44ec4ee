package conformance.flink.job;

import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A source whose enumerator and readers keep in their states what they sent to each other, and what they received. */
final class LedgerSource implements Source<Integer, UnitSplit, EnumeratorState> {

    private static final long serialVersionUID = 1L;

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SplitEnumerator<UnitSplit, EnumeratorState> createEnumerator(SplitEnumeratorContext<UnitSplit> context) {
        return new LedgerEnumerator(context, null);
    }

    @Override
    public SplitEnumerator<UnitSplit, EnumeratorState> restoreEnumerator(
            SplitEnumeratorContext<UnitSplit> context, EnumeratorState state) {
        return new LedgerEnumerator(context, state);
    }

    @Override
    public SourceReader<Integer, UnitSplit> createReader(SourceReaderContext context) {
        return new LedgerReader(context);
    }

    @Override
    public SimpleVersionedSerializer<UnitSplit> getSplitSerializer() {
        return new Serializers.OfSplits();
    }

    @Override
    public SimpleVersionedSerializer<EnumeratorState> getEnumeratorCheckpointSerializer() {
        return new Serializers.OfStates();
    }
}
