import static java.util.Map.entry;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.api.java.function.FlatMapGroupsWithStateFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** A counting job on Spark Structured Streaming, and the host in which its queries run one after the other. */
public final class Job {
    private static final Encoder<Tuple2<Long, Long>> RECORD = Encoders.tuple(Encoders.LONG(), Encoders.LONG());
    private static final String STATE = "spark.sql.streaming.stateStore.";
    private static final int MOST_SAID = 500;
    /** By knob, the setting of Spark. */
    private static final Map<String, String> CONF = Map.ofEntries(
        entry("retain", "spark.sql.streaming.minBatchesToRetain"), entry("maintenance", STATE + "maintenanceInterval"),
        entry("snapshot after", STATE + "minDeltasForSnapshot"), entry("format", STATE + "checkpointFormatVersion"),
        entry("changelog", STATE + "rocksdb.changelogCheckpointing.enabled"),
        entry("checksums", "spark.sql.streaming.checkpoint.fileChecksum.enabled"),
        entry("row checksums", STATE + "rowChecksum.enabled"),
        entry("offset log", "spark.sql.streaming.offsetLog.formatVersion"),
        entry("compact sources", "spark.sql.streaming.fileSource.log.compactInterval"),
        entry("unload", STATE + "unloadOnCommit"),
        entry("verify empty", "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"),
        entry("in memory", "spark.sql.streaming.maxBatchesToRetainInMemory"),
        entry("extra space", "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint"),
        entry("async purge", "spark.sql.streaming.asyncLogPurge.enabled"));

    public static void main(String[] folder) throws Exception {
        SparkSession spark = SparkSession.builder().config(Local.conf()).master("local[2]").config("spark.ui.enabled", false)
            .config("spark.sql.streaming.ui.enabled", false).config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", folder[0] + "/warehouse").config("spark.local.dir", folder[0])
            .config(STATE + "maintenanceShutdownTimeout", "10s").getOrCreate();
        spark.sparkContext().setLogLevel("ERROR");
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(folder[0] + "/socket"));
            Files.createFile(Path.of(folder[0], "ready"));
            while (true) {
                try (SocketChannel guest = server.accept()) {
                    BufferedReader in = new BufferedReader(Channels.newReader(guest, StandardCharsets.UTF_8));
                    String request = in.readLine();
                    if (request == null) {
                        continue; // the guest was killed before it said what is to run
                    }
                    String said = live(spark, new Life(request), in);
                    guest.write(ByteBuffer.wrap(said.getBytes(StandardCharsets.UTF_8)));
                } catch (IOException | UncheckedIOException error) {
                    System.err.println(error); // the guest has been killed
                }
            }
        }
    }

    /**
     * Runs a query until it has read everything or has failed, or until it is asked to stop: by a file, which is how its
     * user stops it, or by the guest, which closes and takes for a kill what it has copied before.
     */
    private static String live(SparkSession spark, Life life, BufferedReader guest) {
        StreamingQuery query = null;
        try {
            query = start(spark, life);
            StreamingQuery running = query;
            Thread ending = new Thread(() -> {
                try {
                    guest.readLine();
                    running.stop();
                } catch (Exception error) {
                    System.err.println(error);
                }
            });
            ending.setDaemon(true);
            ending.start();
            while (query.isActive() && !feed(life)) {
                if (life.isToStop()) {
                    query.stop();
                } else {
                    query.awaitTermination(10);
                }
            }
            query.processAllAvailable();
            if (query.exception().isDefined()) {
                throw query.exception().get();
            }
            return query.isActive() || life.isToStop() ? "finished" : "stopped";
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            String said = ("failed: " + cause).replace('\n', ' ');
            return said.substring(0, Math.min(said.length(), MOST_SAID)); // a message may show the plan of the query
        } finally {
            end(spark, query);
        }
    }

    /** Leaves nothing of a life: no task that still writes, and no state store that is loaded. */
    private static void end(SparkSession spark, StreamingQuery query) {
        try {
            if (query != null) {
                query.stop();
            }
            while (Arrays.stream(spark.sparkContext().statusTracker().getExecutorInfos())
                .anyMatch(one -> one.numRunningTasks() > 0)) {
                Thread.sleep(2);
            }
        } catch (Exception error) {
            System.err.println(error);
        }
        StateStore$.MODULE$.stop();
    }

    /** Gives Spark's file source the records that are new, as files. Returns whether none will follow. */
    private static boolean feed(Life life) throws IOException {
        boolean ended = IntStream.range(0, life.splits()).allMatch(life::isEnded);
        if (!life.knob("source").asText().equals("files")) {
            return ended;
        }
        Path files = Files.createDirectories(life.folder.resolve("files"));
        for (int split = 0; split < life.splits(); split++) {
            List<String> lines = life.lines(split);
            int from = 0;
            String start = split + "-";
            for (String name : files.toFile().list()) {
                if (name.startsWith(start)) {
                    from = Math.max(from, Integer.parseInt(name.substring(start.length(), name.indexOf('.'))));
                }
            }
            while (from < lines.size()) {
                int to = Math.min(lines.size(), from + life.batch());
                replace(files.resolve(start + to + ".json"), life.folder.resolve("new-file"), lines.subList(from, to));
                from = to;
            }
        }
        return ended;
    }

    private static void replace(Path path, Path beside, List<String> lines) throws IOException {
        Files.write(beside, lines);
        Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE);
    }

    private static StreamingQuery start(SparkSession session, Life life) throws Exception {
        SparkSession spark = session.newSession();
        JsonNode store = life.knob("store");
        boolean transforms = life.knob("operator").asText().equals("transform");
        boolean rocks = store.asText().equals("rocksdb") || transforms;
        String name = rocks ? "RocksDBStateStoreProvider" : "HDFSBackedStateStoreProvider";
        spark.conf().set(STATE + "providerClass", "org.apache.spark.sql.execution.streaming.state." + name);
        spark.conf().set("spark.sql.shuffle.partitions", life.parallelism); // Spark keeps that of the first life
        CONF.forEach((knob, key) -> spark.conf().set(key, life.knob(knob).asText()));
        if (!rocks) {
            spark.conf().set(CONF.get("format"), 1);
        }
        if (transforms && !life.knob("distinct").asBoolean()) { // the other operators refuse Avro
            spark.conf().set(STATE + "encodingFormat", life.knob("encoding").asText());
        }
        feed(life);
        Dataset<Row> input = life.knob("source").asText().equals("files")
            ? spark.readStream().schema("id BIGINT, key BIGINT").option("maxFilesPerTrigger", life.splits())
                .json(life.folder.resolve("files").toString())
            : spark.readStream().format("Splits").load();
        if (life.knob("distinct").asBoolean()) {
            input = input.dropDuplicates("id");
        }
        KeyValueGroupedDataset<Long, Tuple2<Long, Long>> keyed = input.map((MapFunction<Row, Tuple2<Long, Long>>) row -> {
            Life.now().here("source");
            return new Tuple2<>(row.getLong(0), row.getLong(1));
        }, RECORD).groupByKey((MapFunction<Tuple2<Long, Long>, Long>) Tuple2::_2, Encoders.LONG());
        Dataset<String> counted = transforms
            ? keyed.transformWithState(new Count(), TimeMode.None(), OutputMode.Append(), Encoders.STRING())
            : keyed.flatMapGroupsWithState((FlatMapGroupsWithStateFunction<Long, Tuple2<Long, Long>, Long, String>)
                (key, records, state) -> {
                    List<String> found = count(key, records, state.exists() ? state.get() : 0);
                    state.update(forgets(key, state.exists() ? state.get() : 0) + found.size());
                    return found.iterator();
                }, OutputMode.Append(), Encoders.LONG(), Encoders.STRING(), GroupStateTimeout.NoTimeout());
        return counted.writeStream().option("checkpointLocation", life.folder.resolve("checkpoint").toString())
            .foreachBatch((VoidFunction2<Dataset<String>, Long>) (rows, batch) -> write(life, rows.collectAsList(), batch))
            .start();
    }

    /** Returns a row for each record of a key in a batch. Spark does not promise their order, so they are sorted. */
    private static List<String> count(long key, Iterator<Tuple2<Long, Long>> records, long before) {
        List<Long> ids = new ArrayList<>();
        records.forEachRemaining(one -> {
            Life.now().here("count");
            ids.add(one._1());
        });
        ids.sort(null);
        long first = before + 1;
        return IntStream.range(0, ids.size()).mapToObj(at -> "[" + key + "," + (first + at) + "," + ids.get(at)).toList();
    }

    /** Returns the count of a key, from which a seeded bug takes one where it was restored. */
    private static long forgets(long key, long count) {
        Life life = Life.now();
        return life.bug.equals("forgets") && life.restored() && life.isFirst(key) ? Math.max(0, count - 1) : count;
    }

    private static final class Count extends StatefulProcessor<Long, Tuple2<Long, Long>, String> {
        private transient ValueState<Long> state;

        @Override
        public void init(OutputMode output, TimeMode time) {
            state = getHandle().getValueState("count", Encoders.LONG(), TTLConfig.NONE());
        }

        @Override
        public scala.collection.Iterator<String> handleInputRows(
            Long key, scala.collection.Iterator<Tuple2<Long, Long>> records, TimerValues timers) {
            long before = state.exists() ? state.get() : 0;
            List<String> found = count(key, CollectionConverters.asJava(records), before);
            state.update(forgets(key, before) + found.size());
            return CollectionConverters.asScala(found.iterator());
        }
    }

    /** Writes the rows of a batch, in the place of what was written of it before. */
    private static void write(Life life, List<String> rows, long batch) throws IOException {
        life.here("sink-before");
        if (!rows.isEmpty()) {
            Path path = life.folder.resolve(String.format("out/%06d.jsonl", batch));
            List<String> lines = new ArrayList<>(rows.stream().map(one -> one + "," + batch + "]").toList());
            if (life.bug.equals("keeps output") && Files.exists(path)) {
                lines.addAll(0, Files.readAllLines(path));
            }
            Path beside = life.folder.resolve("new-rows");
            Files.write(beside, lines);
            life.here("sink-snapshot");
            Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE);
        }
        life.here("sink-after");
    }
}
