package conformance.flink;

import java.io.IOException;
import java.util.List;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.partition.consumer.CheckpointableInput;

/** A gate, as a barrier handler knows it. Its calls about checkpoints also become a signal. */
final class RecordingGate implements CheckpointableInput {

    private final CheckpointableInput gate;
    private final Signals signals;

    RecordingGate(CheckpointableInput gate, Signals signals) {
        this.gate = gate;
        this.signals = signals;
    }

    @Override
    public List<InputChannelInfo> getChannelInfos() {
        return gate.getChannelInfos();
    }

    @Override
    public int getNumberOfInputChannels() {
        return gate.getNumberOfInputChannels();
    }

    @Override
    public int getInputGateIndex() {
        return gate.getInputGateIndex();
    }

    @Override
    public void checkpointStarted(CheckpointBarrier barrier) throws CheckpointException {
        gate.checkpointStarted(barrier);
        signals.add(Json.tagged("inputs-checkpoint-started").put("checkpoint", barrier.getId()));
    }

    @Override
    public void checkpointStopped(long checkpoint) {
        gate.checkpointStopped(checkpoint);
        signals.add(Json.tagged("inputs-checkpoint-stopped").put("checkpoint", checkpoint));
    }

    @Override
    public void blockConsumption(InputChannelInfo channel) {
        gate.blockConsumption(channel);
    }

    @Override
    public void resumeConsumption(InputChannelInfo channel) throws IOException {
        gate.resumeConsumption(channel);
    }

    @Override
    public void convertToPriorityEvent(int channel, int sequenceNumber) throws IOException {
        gate.convertToPriorityEvent(channel, sequenceNumber);
    }
}
