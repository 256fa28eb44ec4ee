package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.io.network.partition.BufferAvailabilityListener;
import org.apache.flink.runtime.io.network.partition.PartitionNotFoundException;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionView;

/** Flink's {@link ResultPartitionManager}, of which the next request for a subpartition can fail. */
final class FaultyPartitions extends ResultPartitionManager {

    static final String PLACE = "subpartition-request";

    private final Faults faults;

    FaultyPartitions(Faults faults) {
        this.faults = faults;
    }

    @Override
    public ResultSubpartitionView createSubpartitionView(
            ResultPartitionID partition, ResultSubpartitionIndexSet indices, BufferAvailabilityListener listener)
            throws IOException {
        String kind = faults.strike(PLACE);
        if (kind == null) {
            return super.createSubpartitionView(partition, indices, listener);
        }
        throw kind.equals("refuses") ? new PartitionNotFoundException(partition) : Faults.failure(PLACE);
    }
}
