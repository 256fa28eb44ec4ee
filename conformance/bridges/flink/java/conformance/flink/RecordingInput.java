package conformance.flink;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.partition.consumer.CheckpointableInput;

/** All channels of a task as one input. Calls of the barrier handler become signals. */
final class RecordingInput implements CheckpointableInput {

    static final String PLACE = "checkpoint-start";

    private final List<InputChannelInfo> channels = new ArrayList<>();
    private final Signals signals;
    private final Faults faults;

    RecordingInput(int count, Signals signals, Faults faults) {
        for (int channel = 0; channel < count; channel++) {
            channels.add(new InputChannelInfo(0, channel));
        }
        this.signals = signals;
        this.faults = faults;
    }

    @Override
    public List<InputChannelInfo> getChannelInfos() {
        return channels;
    }

    @Override
    public int getNumberOfInputChannels() {
        return channels.size();
    }

    @Override
    public int getInputGateIndex() {
        return 0;
    }

    @Override
    public void checkpointStarted(CheckpointBarrier barrier) throws CheckpointException {
        String kind = faults.strike(PLACE);
        if ("refuses".equals(kind)) {
            throw new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED);
        }
        if (kind != null) {
            throw new RuntimeException(Faults.failure(PLACE)); // no checked exception is declared for it
        }
        signals.add(Json.tagged("inputs-checkpoint-started").put("checkpoint", barrier.getId()));
    }

    @Override
    public void checkpointStopped(long checkpoint) {
        signals.add(Json.tagged("inputs-checkpoint-stopped").put("checkpoint", checkpoint));
    }

    /** Does nothing, as in {@code IndexedInputGate}: the network has blocked the channel already. */
    @Override
    public void blockConsumption(InputChannelInfo channel) {}

    @Override
    public void resumeConsumption(InputChannelInfo channel) {
        signals.add(Json.tagged("consumption-resumed").put("channel", channel.getInputChannelIdx()));
    }

    @Override
    public void convertToPriorityEvent(int channel, int sequenceNumber) {
        signals.add(Json.tagged("barrier-prioritized").put("channel", channel).put("seq", sequenceNumber));
    }
}
