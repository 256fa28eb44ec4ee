package conformance.flink;

import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;

/** What is filtered with: the place of the task in its vertex, and its gates. */
public final class FilteringTask {

    public final InflightDataRescalingDescriptor descriptor;
    public final FilteredInput[] inputs;
    public final int parallelism;
    public final int subtask;
    public final int maxParallelism;
    /** Whether records are filtered while they are read. */
    public final boolean filtersWhileReading;
    /** Where large records are written to. */
    public final String[] folders;

    public FilteringTask(
            InflightDataRescalingDescriptor descriptor,
            FilteredInput[] inputs,
            int parallelism,
            int subtask,
            int maxParallelism,
            boolean filtersWhileReading,
            String[] folders) {
        this.descriptor = descriptor;
        this.inputs = inputs;
        this.parallelism = parallelism;
        this.subtask = subtask;
        this.maxParallelism = maxParallelism;
        this.filtersWhileReading = filtersWhileReading;
        this.folders = folders;
    }
}
