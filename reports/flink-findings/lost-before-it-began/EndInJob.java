import java.io.IOException;
import java.net.ServerSocket;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.client.program.rest.RestClusterClient;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.apache.flink.runtime.highavailability.JobResultEntry;
import org.apache.flink.runtime.highavailability.JobResultStore;
import org.apache.flink.runtime.highavailability.nonha.embedded.EmbeddedHaServicesWithLeadershipControl;
import org.apache.flink.runtime.highavailability.nonha.embedded.EmbeddedJobResultStore;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.leaderelection.DefaultLeaderElectionService;
import org.apache.flink.runtime.leaderelection.LeaderElection;
import org.apache.flink.runtime.leaderelection.LeaderElectionDriver;
import org.apache.flink.runtime.leaderelection.LeaderInformation;
import org.apache.flink.runtime.leaderretrieval.DefaultLeaderRetrievalService;
import org.apache.flink.runtime.leaderretrieval.LeaderRetrievalEventHandler;
import org.apache.flink.runtime.leaderretrieval.LeaderRetrievalService;
import org.apache.flink.runtime.rpc.RpcSystemUtils;
import org.apache.flink.runtime.util.JvmShutdownSafeguard;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.slf4j.LoggerFactory;

/**
 * The process of a JobManager with Flink's own entry point, and no TaskManager. A job is submitted, and its job master
 * gets its leadership. It asks the job result store whether the job is done; while the store has not answered, it loses
 * its leadership. The argument says more:
 *
 * <ul>
 *   <li>none: only the job master loses it, in Flink's embedded services
 *   <li>"together": all components of the JobManager lose it, in the election that ZooKeeper and Kubernetes have, too;
 *       then the store answers. That is a race, which is tried twenty times
 *   <li>"control": the store answers first, so that the job master that loses its leadership has begun
 * </ul>
 *
 * <p>Exit status 239: Flink has ended the process, after a fatal error. 0: the JobManager goes on.
 */
public final class EndInJob {

    private static final int ATTEMPTS = 20;
    private static boolean isTogether;

    public static void main(String[] arguments) throws Exception {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        isTogether = arguments.length > 0 && arguments[0].equals("together");
        Configuration settings = new Configuration();
        settings.setString("jobmanager.rpc.address", "localhost");
        settings.setString("jobmanager.rpc.port", "0");
        settings.setString("rest.address", "localhost");
        settings.setString("rest.port", String.valueOf(freePort()));
        settings.setString("blob.server.port", "0");
        JvmShutdownSafeguard.installAsShutdownHook(LoggerFactory.getLogger(EndInJob.class)); // as Flink's own main does
        JobManager manager = new JobManager(settings);
        manager.startCluster();
        try (RestClusterClient<String> client = new RestClusterClient<>(settings, "cluster")) {
            for (int attempt = 1; isTogether && attempt <= ATTEMPTS; attempt++) {
                Together together = manager.leadership.together;
                together.grant();
                client.submitJob(job()); // the dispatcher may answer, or not
                boolean isRevoked = together.revoked.tryAcquire(20, TimeUnit.SECONDS);
                System.out.println(attempt + ": " + (isRevoked ? "all have lost their leadership" : "no job master"));
                Thread.sleep(1000); // in which the process may end
            }
            if (isTogether) {
                Runtime.getRuntime().halt(0);
            }
            JobID job = client.submitJob(job()).get();
            System.out.println("the job was submitted");
            if (isControl) {
                manager.leadership.store.answer();
                while (client.getJobStatus(job).get() != JobStatus.RUNNING) {
                    Thread.sleep(100);
                }
                System.out.println("the job master has begun");
            }
            manager.leadership.store.asked.get(); // by the job master, which has its leadership
            manager.leadership.revokeJobMasterLeadership(job).get();
            System.out.println("the job master has lost its leadership");
            manager.leadership.store.answer();
            manager.leadership.grantJobMasterLeadership(job).get();
            while (client.getJobStatus(job).get() != JobStatus.RUNNING) {
                Thread.sleep(100);
            }
            System.out.println("the job master has its leadership again, and the job is RUNNING");
        }
        Runtime.getRuntime().halt(0);
    }

    private static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static JobGraph job() {
        Configuration none = new Configuration();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(none);
        environment
                .fromSource(new NumberSequenceSource(0, 9), WatermarkStrategy.noWatermarks(), "numbers")
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private static final class JobManager extends StandaloneSessionClusterEntrypoint {

        private volatile Leadership leadership;

        JobManager(Configuration settings) {
            super(settings);
        }

        @Override
        protected HighAvailabilityServices createHaServices(
                Configuration settings, Executor executor, RpcSystemUtils utilities) {
            leadership = new Leadership(executor);
            return leadership;
        }

        @Override
        public void onFatalError(Throwable error) {
            System.out.println("FATAL: " + error.getMessage().replaceAll("[0-9a-f]{32} ", ""));
            for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
                System.out.println("caused by " + cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            super.onFatalError(error);
        }
    }

    /** Takes leadership away from one job master, and has a job result store that answers when it is told to. */
    private static final class Leadership extends EmbeddedHaServicesWithLeadershipControl {

        private final Together together = new Together();
        private final SlowStore store = new SlowStore(together);

        Leadership(Executor executor) {
            super(executor);
        }

        @Override
        public LeaderElection getDispatcherLeaderElection() {
            return isTogether ? together.election("dispatcher") : super.getDispatcherLeaderElection();
        }

        @Override
        public LeaderElection getResourceManagerLeaderElection() {
            return isTogether ? together.election("resource manager") : super.getResourceManagerLeaderElection();
        }

        @Override
        public LeaderElection getClusterRestEndpointLeaderElection() {
            return isTogether ? together.election("rest") : super.getClusterRestEndpointLeaderElection();
        }

        @Override
        public LeaderRetrievalService getDispatcherLeaderRetriever() {
            return isTogether ? together.retrieval("dispatcher") : super.getDispatcherLeaderRetriever();
        }

        @Override
        public LeaderRetrievalService getResourceManagerLeaderRetriever() {
            return isTogether ? together.retrieval("resource manager") : super.getResourceManagerLeaderRetriever();
        }

        @Override
        public LeaderRetrievalService getClusterRestEndpointLeaderRetriever() {
            return isTogether ? together.retrieval("rest") : super.getClusterRestEndpointLeaderRetriever();
        }

        @Override
        public JobResultStore getJobResultStore() {
            return store;
        }

        @Override
        public LeaderElection getJobManagerLeaderElection(JobID job) {
            store.isSlow = true; // behind this, the job master asks, and no longer the dispatcher
            return isTogether ? together.election(job.toString()) : super.getJobManagerLeaderElection(job);
        }
    }

    /** All components have one election, which is Flink's; what decides it, ZooKeeper for example, is this. */
    private static final class Together implements LeaderElectionDriver {

        private final Semaphore revoked = new Semaphore(0);
        private final Map<String, LeaderInformation> leaders = new ConcurrentHashMap<>();
        private final Map<String, Set<LeaderRetrievalEventHandler>> handlers = new ConcurrentHashMap<>();
        private LeaderElectionDriver.Listener listener;
        private volatile boolean isLeader;
        private final DefaultLeaderElectionService service =
                new DefaultLeaderElectionService(
                        elected -> {
                            listener = elected;
                            return this;
                        });

        void grant() {
            isLeader = true;
            listener.onGrantLeadership(UUID.randomUUID());
        }

        void revoke() {
            isLeader = false;
            listener.onRevokeLeadership();
        }

        LeaderElection election(String component) {
            return service.createLeaderElection(component);
        }

        LeaderRetrievalService retrieval(String component) {
            return new DefaultLeaderRetrievalService(
                    (handler, failures) -> {
                        handlers.computeIfAbsent(component, key -> ConcurrentHashMap.newKeySet()).add(handler);
                        CompletableFuture.runAsync(() -> handler.notifyLeaderAddress(leader(component)));
                        return () -> handlers.get(component).remove(handler);
                    });
        }

        private LeaderInformation leader(String component) {
            return leaders.getOrDefault(component, LeaderInformation.empty());
        }

        @Override
        public boolean hasLeadership() {
            return isLeader;
        }

        @Override
        public void publishLeaderInformation(String component, LeaderInformation leader) {
            leaders.put(component, leader);
            handlers.getOrDefault(component, Set.of()).forEach(handler -> handler.notifyLeaderAddress(leader));
        }

        @Override
        public void deleteLeaderInformation(String component) {
            publishLeaderInformation(component, LeaderInformation.empty());
        }

        @Override
        public void close() {}
    }

    private static final class SlowStore implements JobResultStore {

        private final JobResultStore store = new EmbeddedJobResultStore();
        private final Together together;
        private final CompletableFuture<Void> asked = new CompletableFuture<>();
        private final CompletableFuture<Void> answered = new CompletableFuture<>();
        private volatile boolean isSlow;

        SlowStore(Together together) {
            this.together = together;
        }

        void answer() {
            answered.complete(null);
        }

        @Override
        public CompletableFuture<Boolean> hasDirtyJobResultEntryAsync(JobID job) {
            if (!isSlow) {
                return store.hasDirtyJobResultEntryAsync(job);
            }
            asked.complete(null);
            if (isTogether) {
                isSlow = false; // until the next job master asks
                return CompletableFuture.runAsync(together::revoke)
                        .thenRun(together.revoked::release)
                        .thenCompose(nothing -> store.hasDirtyJobResultEntryAsync(job));
            }
            return answered.thenCompose(nothing -> store.hasDirtyJobResultEntryAsync(job));
        }

        @Override
        public CompletableFuture<Boolean> hasCleanJobResultEntryAsync(JobID job) {
            return store.hasCleanJobResultEntryAsync(job);
        }

        @Override
        public CompletableFuture<Void> createDirtyResultAsync(JobResultEntry entry) {
            return store.createDirtyResultAsync(entry);
        }

        @Override
        public CompletableFuture<Void> markResultAsCleanAsync(JobID job) {
            return store.markResultAsCleanAsync(job);
        }

        @Override
        public Set<JobResult> getDirtyResults() throws IOException {
            return store.getDirtyResults();
        }
    }
}
