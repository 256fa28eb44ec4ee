import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.io.network.api.serialization.SpillingAdaptiveSpanningRecordDeserializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.plugable.DeserializationDelegate;
import org.apache.flink.runtime.plugable.NonReusingDeserializationDelegate;
import org.apache.flink.streaming.runtime.io.recovery.RecordFilter;
import org.apache.flink.streaming.runtime.io.recovery.VirtualChannel;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * The recovered state of a virtual channel ends inside a record, and the channel says that it has no partial data, so
 * that the recovery ends as if nothing was lost.
 *
 * <p>Exit status 1: it says so. 0: it says what is true. With the argument "control" the state has the whole record.
 */
public final class Silent {

    public static void main(String[] arguments) throws IOException {
        boolean isWhole = arguments.length > 0 && arguments[0].equals("control");
        StreamElementSerializer<String> serializer = new StreamElementSerializer<>(StringSerializer.INSTANCE);
        byte[] record = record(serializer, "an order that must not get lost");
        int length = isWhole ? record.length : record.length / 2;

        VirtualChannel<String> channel =
                new VirtualChannel<>(
                        new SpillingAdaptiveSpanningRecordDeserializer<>(new String[] {"."}), RecordFilter.acceptAll());
        DeserializationDelegate<StreamElement> delegate = new NonReusingDeserializationDelegate<>(serializer);
        channel.setNextBuffer(buffer(Arrays.copyOf(record, length)));
        System.out.println(length + " of " + record.length + " bytes were recovered: " + channel.getNextRecord(delegate));
        boolean isPartial = channel.hasPartialData();
        System.out.println("the channel has partial data: " + isPartial);
        System.out.println(isPartial == !isWhole ? "that is true" : "SILENT: the record is lost, and nothing fails");
        System.exit(isPartial == !isWhole ? 0 : 1);
    }

    /** A record as it lies in a channel: its length, then the element. */
    private static byte[] record(StreamElementSerializer<String> serializer, String value) throws IOException {
        DataOutputSerializer element = new DataOutputSerializer(64);
        serializer.serialize(new StreamRecord<>(value), element);
        DataOutputSerializer framed = new DataOutputSerializer(64);
        framed.writeInt(element.length());
        framed.write(element.getCopyOfBuffer());
        return framed.getCopyOfBuffer();
    }

    private static Buffer buffer(byte[] content) {
        return new NetworkBuffer(
                MemorySegmentFactory.wrap(content),
                FreeingBufferRecycler.INSTANCE,
                Buffer.DataType.DATA_BUFFER,
                content.length);
    }
}
