import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A source of a user's own: it reads splits, and its offset is the position in each of them. */
public final class Splits implements TableProvider {
    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return StructType.fromDDL("id BIGINT, key BIGINT");
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Input();
    }

    private record Input() implements SupportsRead {
        @Override
        public String name() {
            return "splits";
        }

        @Override
        @SuppressWarnings("deprecation")
        public StructType schema() {
            return StructType.fromDDL("id BIGINT, key BIGINT");
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new Scan() {
                @Override
                public StructType readSchema() {
                    return schema();
                }

                @Override
                public MicroBatchStream toMicroBatchStream(String checkpoint) {
                    return new Stream(Life.now());
                }
            };
        }
    }

    private static final class Positions extends Offset {
        final int[] of;

        Positions(int[] of) {
            this.of = of;
        }

        @Override
        public String json() {
            return Arrays.toString(of);
        }
    }

    private record Part(List<String> lines) implements InputPartition {}

    private record Stream(Life life) implements MicroBatchStream, SupportsAdmissionControl {
        @Override
        public Offset initialOffset() {
            return new Positions(new int[life.splits()]);
        }

        @Override
        public Offset deserializeOffset(String json) {
            return new Positions(Arrays.stream(json.replaceAll("[\\[\\] ]", "").split(",")).mapToInt(Integer::parseInt).toArray());
        }

        @Override
        public Offset latestOffset() {
            throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called");
        }

        @Override
        public Offset latestOffset(Offset start, ReadLimit limit) {
            life.here("source-snapshot");
            int[] from = ((Positions) start).of;
            int[] to = IntStream.range(0, from.length)
                .map(split -> Math.max(from[split], Math.min(from[split] + life.batch(), life.lines(split).size()))).toArray();
            return Arrays.equals(from, to) ? start : new Positions(to);
        }

        @Override
        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            int wrong = life.restored() ? Map.of("skips", 1, "reads again", -1).getOrDefault(life.bug, 0) : 0;
            int seeded = wrong != 0 && life.isInFirstBatch(end.json()) ? wrong : 0;
            int[] from = Arrays.stream(((Positions) start).of).map(one -> Math.max(0, one + seeded)).toArray();
            int[] to = ((Positions) end).of;
            return IntStream.range(0, from.length).filter(split -> from[split] < to[split])
                .mapToObj(split -> new Part(List.copyOf(life.lines(split).subList(from[split], to[split]))))
                .toArray(InputPartition[]::new);
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return part -> new Reader(((Part) part).lines());
        }

        @Override
        public void commit(Offset end) {
            life.here("notice");
        }

        @Override
        public void stop() {}
    }

    private static final class Reader implements PartitionReader<InternalRow> {
        private final List<String> lines;
        private int next;

        Reader(List<String> lines) {
            this.lines = lines;
        }

        @Override
        public boolean next() {
            return next++ < lines.size();
        }

        @Override
        public InternalRow get() {
            return new GenericInternalRow(Life.fields(lines.get(next - 1)));
        }

        @Override
        public void close() {}
    }
}
