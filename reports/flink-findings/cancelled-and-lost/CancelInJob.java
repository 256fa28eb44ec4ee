import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.highavailability.nonha.embedded.HaLeadershipControl;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A whole job on Flink's mini cluster, which is cancelled. The request is acknowledged. While its task closes, which it is
 * slow to do, the job master loses its leadership, and gets it back; with the argument "control" it does not.
 *
 * <p>Exit status 1: the job that was cancelled runs again. 0: it is cancelled.
 */
public final class CancelInJob {

    private static final int NUMBERS = 100;
    private static final AtomicInteger CAME = new AtomicInteger();
    private static final CountDownLatch CLOSES = new CountDownLatch(1);
    private static final CountDownLatch MAY_CLOSE = new CountDownLatch(1);
    private static final CountDownLatch OPENED_AGAIN = new CountDownLatch(2);

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        Configuration cluster = new Configuration();
        cluster.setString("taskmanager.memory.network.min", "16mb");
        cluster.setString("taskmanager.memory.network.max", "16mb");
        cluster.setString("taskmanager.memory.managed.size", "32mb");
        cluster.setString("rest.port", "0");
        cluster.setString("rest.bind-port", "0");
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(cluster)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(1)
                        .setHaServices(MiniCluster.HaServices.WITH_LEADERSHIP_CONTROL)
                        .withRandomPorts()
                        .build();
        JobStatus status;
        try (MiniCluster flink = new MiniCluster(settings)) {
            flink.start();
            JobGraph graph = job();
            JobID job = graph.getJobID();
            flink.submitJob(graph).get();
            await(NUMBERS);
            flink.cancelJob(job).get();
            System.out.println("the request to cancel the job: acknowledged");
            CLOSES.await();
            System.out.println("the job, while its task closes: " + flink.getJobStatus(job).get());
            if (isControl) {
                MAY_CLOSE.countDown();
                status = flink.getJobStatus(job).get();
                while (!status.isTerminalState()) {
                    Thread.sleep(10);
                    status = flink.getJobStatus(job).get();
                }
            } else {
                HaLeadershipControl leadership = flink.getHaLeadershipControl().orElseThrow();
                leadership.revokeJobMasterLeadership(job).get();
                MAY_CLOSE.countDown();
                leadership.grantJobMasterLeadership(job).get();
                System.out.println("the job master has lost its leadership, and has got it back");
                OPENED_AGAIN.await();
                await(NUMBERS);
                System.out.println("the task: opened again, and it processes numbers");
                status = flink.getJobStatus(job).get();
            }
            System.out.println("the job: " + status);
        }
        System.exit(status == JobStatus.CANCELED ? 0 : 1);
    }

    /** Waits until so many further numbers have come. */
    private static void await(int numbers) throws InterruptedException {
        int until = CAME.get() + numbers;
        while (CAME.get() < until) {
            Thread.sleep(10);
        }
    }

    private static JobGraph job() {
        Configuration settings = new Configuration();
        settings.setString("restart-strategy.type", "disable");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        environment.setParallelism(1);
        environment
                .fromSource(
                        new NumberSequenceSource(0, Integer.MAX_VALUE), WatermarkStrategy.noWatermarks(), "numbers")
                .map(new SlowToClose())
                .returns(Types.LONG)
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    /** Passes numbers on, and closes only when it may. */
    private static final class SlowToClose extends RichMapFunction<Long, Long> {

        private static final long serialVersionUID = 1L;

        @Override
        public void open(OpenContext context) {
            OPENED_AGAIN.countDown();
        }

        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(1);
            CAME.incrementAndGet();
            return number;
        }

        @Override
        public void close() {
            CLOSES.countDown();
            while (true) {
                try {
                    MAY_CLOSE.await();
                    return;
                } catch (InterruptedException again) {
                    // a task that is cancelled is interrupted again and again
                }
            }
        }
    }
}
