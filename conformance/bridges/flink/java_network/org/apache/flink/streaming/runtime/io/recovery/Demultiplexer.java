package org.apache.flink.streaming.runtime.io.recovery;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.RecordDeserializer;
import org.apache.flink.runtime.io.network.api.serialization.SpillingAdaptiveSpanningRecordDeserializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.plugable.DeserializationDelegate;
import org.apache.flink.runtime.plugable.NonReusingDeserializationDelegate;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;

/** What a task reads a recovered channel with. */
public final class Demultiplexer {

    private final RecordDeserializer<DeserializationDelegate<StreamElement>> deserializer;
    private final DeserializationDelegate<StreamElement> delegate;
    private boolean hasBuffer;

    Demultiplexer(
            RecordDeserializer<DeserializationDelegate<StreamElement>> deserializer, TypeSerializer<Object> values) {
        this.deserializer = deserializer;
        this.delegate = new NonReusingDeserializationDelegate<>(new StreamElementSerializer<>(values));
    }

    /** What a task reads a channel with that was not rescaled. */
    public static Demultiplexer none(String[] folders, TypeSerializer<Object> values) {
        return new Demultiplexer(new SpillingAdaptiveSpanningRecordDeserializer<>(folders), values);
    }

    /** That of a virtual channel, of so many in one channel. */
    static RecordDeserializer<DeserializationDelegate<StreamElement>> deserializer(String[] folders, int count) {
        return new SpillingAdaptiveSpanningRecordDeserializer<>(
                folders,
                SpillingAdaptiveSpanningRecordDeserializer.DEFAULT_THRESHOLD_FOR_SPILLING / count,
                SpillingAdaptiveSpanningRecordDeserializer.DEFAULT_FILE_BUFFER_SIZE / count);
    }

    public boolean hasBuffer() {
        return hasBuffer;
    }

    /** The buffers that follow are of this virtual channel. */
    public void select(SubtaskConnectionDescriptor descriptor) {
        if (deserializer instanceof DemultiplexingRecordDeserializer) { // otherwise descriptors are ignored
            ((DemultiplexingRecordDeserializer<?>) deserializer).select(descriptor);
        }
    }

    public void setNextBuffer(Buffer buffer) throws IOException {
        hasBuffer = true;
        deserializer.setNextBuffer(buffer);
    }

    /** The next element of the buffer; null if it has none any more. */
    public StreamElement next() throws IOException {
        RecordDeserializer.DeserializationResult result = deserializer.getNextRecord(delegate);
        hasBuffer = !result.isBufferConsumed();
        return result.isFullRecord() ? delegate.getInstance() : null;
    }

    /** Whether a virtual channel is inside an element ({@code RescalingStreamTaskNetworkInput.finishRecovery}). */
    public boolean hasPartialData() {
        return deserializer instanceof DemultiplexingRecordDeserializer
                && ((DemultiplexingRecordDeserializer<?>) deserializer).hasPartialData();
    }

    public void clear() {
        deserializer.clear();
    }
}
