package conformance.flink;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.event.TaskEvent;

/** An event that means nothing to Flink. Flink serialises it by its class name and needs the public constructor. */
public final class LabelledEvent extends TaskEvent {

    private int label;

    public LabelledEvent() {}

    LabelledEvent(int label) {
        this.label = label;
    }

    int label() {
        return label;
    }

    @Override
    public void write(DataOutputView out) throws IOException {
        out.writeInt(label);
    }

    @Override
    public void read(DataInputView in) throws IOException {
        label = in.readInt();
    }
}
