package conformance.flink.pipeline;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A source that reads what a scenario supplies. */
final class SplitSource implements Source<byte[], Split, Split[]> {

    private static final long serialVersionUID = 1L;

    private final long job;
    private final int vertex;

    SplitSource(long job, int vertex) {
        this.job = job;
        this.vertex = vertex;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SplitEnumerator<Split, Split[]> createEnumerator(SplitEnumeratorContext<Split> context) {
        JobPlan.Vertex source = LiveJob.of(job).plan.vertices.get(vertex);
        int end = source.firstSplit + source.splits;
        return assigner(
                context,
                IntStream.range(source.firstSplit, end).mapToObj(split -> new Split(split, 0)).toArray(Split[]::new));
    }

    @Override
    public SplitEnumerator<Split, Split[]> restoreEnumerator(SplitEnumeratorContext<Split> context, Split[] left) {
        return assigner(context, left);
    }

    private SplitAssigner assigner(SplitEnumeratorContext<Split> context, Split[] unassigned) {
        List<Split> splits = Arrays.asList(unassigned);
        return new SplitAssigner(LiveJob.of(job), vertex, context, splits);
    }

    @Override
    public SourceReader<byte[], Split> createReader(SourceReaderContext context) throws Exception {
        LiveJob live = LiveJob.of(job);
        return new SplitReader(live, live.plan.vertices.get(vertex), context.getIndexOfSubtask(), asks(context));
    }

    /** What a reader does when it can take a split: only an enumerator of the user's is asked for one. */
    private static Runnable asks(SourceReaderContext context) {
        return OwnEnumerator.IS_THERE ? context::sendSplitRequest : () -> {};
    }

    @Override
    public SimpleVersionedSerializer<Split> getSplitSerializer() {
        return new Split.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<Split[]> getEnumeratorCheckpointSerializer() {
        return new Split.OfUnassigned();
    }
}
