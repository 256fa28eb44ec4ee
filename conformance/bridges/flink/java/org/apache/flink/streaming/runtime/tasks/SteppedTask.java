package org.apache.flink.streaming.runtime.tasks;

import conformance.flink.SteppedMailbox;
import conformance.flink.TurnThread;
import java.io.IOException;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.io.network.partition.consumer.BufferOrEvent;
import org.apache.flink.runtime.io.network.partition.consumer.IndexedInputGate;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.runtime.io.DataInputStatus;
import org.apache.flink.streaming.runtime.io.StreamInputProcessor;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointBarrierHandler;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointedInputGate;
import org.apache.flink.streaming.runtime.io.checkpointing.InputProcessorUtil;
import org.apache.flink.streaming.runtime.partitioner.RebalancePartitioner;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxDefaultAction;

/**
 * Flink's {@code StreamTask} with a mailbox, an executor of channel state and a thread pool that go on only when they are
 * asked to. Its operators read whole buffers of the gates that are selected, one at a time; they do not know which gates have been
 * converted. The barrier handler is the one that Flink makes for such gates.
 */
public final class SteppedTask extends StreamTask<Integer, StreamOperator<Integer>> {

    /** The operator of every task. */
    public static final OperatorID OPERATOR = new OperatorID(0, 0);

    private static final int ALL = -1;

    private final SteppedMailbox mailbox;
    private final StreamOperator<Integer> operator;
    private final Executor executor = new Executor();
    private final SubtaskAccess.Parts parts = new SubtaskAccess.Parts();
    private CheckpointBarrierHandler handler;
    private CompletableFuture<Void> selectionChanged = new CompletableFuture<>();
    private int selected;

    /** {@code selected}: the gate that the operators read at first, or -1 for all. */
    public SteppedTask(
            Environment environment, SteppedMailbox mailbox, StreamOperator<Integer> operator, int selected)
            throws Exception {
        super(environment, null, (thread, error) -> {}, StreamTaskActionExecutor.IMMEDIATE, mailbox);
        this.mailbox = mailbox;
        this.operator = operator;
        this.selected = selected;
        // The only mail that real time would bring.
        mailboxProcessor.getMailboxMetricsControl().setLatencyMeasurementInterval(Integer.MAX_VALUE);
        replace(StreamTask.class, "channelIOExecutor", this, executor);
        replace(StreamTask.class, "asyncOperationsThreadPool", this, parts);
        replace(
                SubtaskCheckpointCoordinatorImpl.class,
                "asyncOperationsThreadPool",
                getCheckpointCoordinator(),
                parts);
    }

    private static void replace(Class<?> type, String name, Object of, ExecutorService by)
            throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        ((ExecutorService) field.get(of)).shutdown(); // none of its threads has begun
        field.set(of, by);
    }

    /** The configuration of a task with so many gates and no output. */
    public static Configuration configuration(int gates) {
        StreamConfig config = new StreamConfig(new Configuration());
        config.setOperatorID(OPERATOR);
        config.setOperatorName("operator");
        config.setVertexID(1);
        config.setChainStart();
        config.setStreamOperatorFactory(new Factory());
        config.setTypeSerializerOut(IntSerializer.INSTANCE);
        config.setNumberOfOutputs(0);
        config.setChainedOutputs(List.of());
        config.setVertexNonChainedOutputs(List.of());
        config.setOperatorNonChainedOutputs(List.of());
        config.setNumberOfNetworkInputs(gates);
        IntSerializer[] types = new IntSerializer[gates];
        List<StreamEdge> edges = new ArrayList<>();
        StreamNode task = node(gates);
        for (int gate = 0; gate < gates; gate++) {
            types[gate] = IntSerializer.INSTANCE;
            edges.add(new StreamEdge(node(gate), task, gate + 1, new RebalancePartitioner<Integer>(), null));
        }
        config.setupNetworkInputs(types);
        config.setInPhysicalEdges(edges);
        config.setAndSerializeTransitiveChainedTaskConfigs(new HashMap<>());
        config.serializeAllConfigs();
        return config.getConfiguration();
    }

    private static StreamNode node(int id) {
        return new StreamNode(id, null, null, (StreamOperator<?>) null, "node", SteppedTask.class);
    }

    /** Lets the executor of channel state go on as far as it can. Returns whether there was anything to do. */
    public boolean runExecutor() throws InterruptedException {
        return executor.run();
    }

    /** Lets the asynchronous part of a checkpoint go on until it ends, if there is one. */
    public void runPart(long checkpoint) throws InterruptedException {
        parts.run(checkpoint);
    }

    /** From now on the operators read only this gate, or all. */
    public void select(int gate) {
        selected = gate;
        CompletableFuture<Void> changed = selectionChanged;
        selectionChanged = new CompletableFuture<>();
        changed.complete(null);
    }

    // ---- what a task of Flink defines

    @Override
    protected void init() {
        IndexedInputGate[] gates = getEnvironment().getAllInputGates();
        if (gates.length == 0) {
            inputProcessor = new Operators(new CheckpointedInputGate[0]);
            return;
        }
        @SuppressWarnings({"unchecked", "rawtypes"})
        List<IndexedInputGate>[] inputs = new List[gates.length];
        for (int gate = 0; gate < gates.length; gate++) {
            inputs[gate] = List.of(gates[gate]);
        }
        handler =
                InputProcessorUtil.createCheckpointBarrierHandler(
                        this,
                        getJobConfiguration(),
                        getConfiguration(),
                        getCheckpointCoordinator(),
                        getName(),
                        inputs,
                        List.of(),
                        mainMailboxExecutor,
                        systemTimerService);
        inputProcessor =
                new Operators(
                        InputProcessorUtil.createCheckpointedMultipleInputGate(
                                mainMailboxExecutor,
                                inputs,
                                getEnvironment().getMetricGroup().getIOMetricGroup(),
                                handler,
                                getConfiguration()));
    }

    @Override
    protected Optional<CheckpointBarrierHandler> getCheckpointBarrierHandler() {
        return Optional.ofNullable(handler);
    }

    @Override
    protected void processInput(MailboxDefaultAction.Controller controller) throws Exception {
        mailbox.beforeDefaultAction();
        super.processInput(controller);
    }

    /** What reads the gates, in place of the deserializers and the operators of a job. */
    private final class Operators implements StreamInputProcessor {

        private final CheckpointedInputGate[] inputs;
        private int turn; // the input that is asked first

        private Operators(CheckpointedInputGate[] inputs) {
            this.inputs = inputs;
        }

        @Override
        public DataInputStatus processInput() throws Exception {
            for (int count = 0; count < inputs.length; count++) {
                int index = (turn + count) % inputs.length;
                if (!isRead(index)) {
                    continue;
                }
                Optional<BufferOrEvent> next = inputs[index].pollNext();
                if (next.isPresent()) {
                    mailbox.tookElement();
                    turn = (index + 1) % inputs.length;
                    if (next.get().isBuffer()) {
                        next.get().getBuffer().recycleBuffer();
                    }
                    return allFinished() ? DataInputStatus.END_OF_INPUT : DataInputStatus.MORE_AVAILABLE;
                }
            }
            return allFinished() ? DataInputStatus.END_OF_INPUT : DataInputStatus.NOTHING_AVAILABLE;
        }

        private boolean isRead(int index) {
            return (selected == ALL || selected == index) && !inputs[index].isFinished();
        }

        private boolean allFinished() {
            for (CheckpointedInputGate input : inputs) {
                if (!input.isFinished()) {
                    return false;
                }
            }
            return true;
        }

        @Override
        public CompletableFuture<?> getAvailableFuture() {
            List<CompletableFuture<?>> any = new ArrayList<>();
            any.add(selectionChanged);
            for (int index = 0; index < inputs.length; index++) {
                if (isRead(index)) {
                    any.add(inputs[index].getAvailableFuture());
                }
            }
            return CompletableFuture.anyOf(any.toArray(new CompletableFuture<?>[0]));
        }

        /** No operator holds a part of a record. As {@code StreamTaskNetworkInput.prepareSnapshot}. */
        @Override
        public CompletableFuture<Void> prepareSnapshot(ChannelStateWriter writer, long checkpoint) {
            return inputs.length == 0
                    ? CompletableFuture.completedFuture(null)
                    : inputs[0].getAllBarriersReceivedFuture(checkpoint);
        }

        @Override
        public void close() throws IOException {
            for (CheckpointedInputGate input : inputs) {
                input.close();
            }
        }
    }

    /** Asks the task that it is made for. */
    private static final class Factory extends AbstractStreamOperatorFactory<Integer> implements Serializable {

        private static final long serialVersionUID = 1L;

        @Override
        @SuppressWarnings("unchecked")
        public <T extends StreamOperator<Integer>> T createStreamOperator(
                StreamOperatorParameters<Integer> parameters) {
            return (T) ((SteppedTask) parameters.getContainingTask()).operator;
        }

        @Override
        @SuppressWarnings("rawtypes")
        public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
            return StreamOperator.class;
        }
    }

    /** Has a thread for what it executes, which runs when it is asked to. */
    private static final class Executor extends AbstractExecutorService {

        private final List<TurnThread> threads = new ArrayList<>();
        private boolean isShutdown;

        private boolean run() throws InterruptedException {
            for (TurnThread thread : threads) {
                if (!thread.hasEnded()) {
                    thread.run();
                    return true;
                }
            }
            return false;
        }

        @Override
        public void execute(Runnable task) {
            if (isShutdown) {
                throw new RejectedExecutionException("the executor of channel state was shut down");
            }
            threads.add(new TurnThread(task, "executor of channel state"));
        }

        @Override
        public void shutdown() {
            isShutdown = true;
        }

        @Override
        public List<Runnable> shutdownNow() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isShutdown() {
            return isShutdown;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
