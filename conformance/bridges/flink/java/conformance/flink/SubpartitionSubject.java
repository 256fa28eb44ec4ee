package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.BufferAvailabilityListener;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionView;
import org.apache.flink.runtime.io.network.partition.SubpartitionAccess;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Flink's {@link PipelinedSubpartition} in a real partition, with a real view. */
final class SubpartitionSubject implements Subject, BufferAvailabilityListener {

    private final Segments segments = new Segments();
    private final RecordingStateWriter writer = new RecordingStateWriter();
    private final PipelinedResultPartition partition;
    private final PipelinedSubpartition subpartition;
    private final Producer producer;
    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private ResultSubpartitionView view;

    SubpartitionSubject(int exclusiveBuffers) throws IOException {
        partition = SubpartitionAccess.partition(exclusiveBuffers, writer);
        subpartition = SubpartitionAccess.subpartition(partition);
        producer = new Producer(subpartition, segments);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "add":
                return producer.add(arguments.node(0));
            case "append":
                producer.append(arguments.node(0));
                return null;
            case "finish_buffer":
                producer.finishBuffer();
                return null;
            case "flush":
                subpartition.flush();
                return null;
            case "finish":
                subpartition.finish();
                return null;
            case "attach_view":
                view = subpartition.createReadView(this);
                return null;
            case "poll":
                return poll();
            case "available":
                return available(arguments.truth(0));
            case "resume":
                SubpartitionAccess.resume(subpartition);
                return null;
            case "aligned_timeout":
                subpartition.alignedBarrierTimeout(arguments.number(0));
                return null;
            case "abort":
                subpartition.abortCheckpoint(
                        arguments.number(0), new CheckpointException(Errors.reason(arguments.text(1))));
                return null;
            case "recover":
                producer.add(arguments.node(0));
                return null;
            case "finish_recovery":
                partition.finishReadRecoveredState(arguments.truth(0));
                return null;
            case "fault":
                return fault(arguments.text(0), arguments.text(1), arguments.number(2));
            case "persisted":
                return writer.persisted(arguments.number(0));
            case "resources":
                return resources();
            case "release":
                subpartition.release();
                producer.close();
                return null;
            default:
                throw new BadRequest("a subpartition has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    @Override
    public void notifyDataAvailable(ResultSubpartitionView view) {
        faults.throwUnchecked("availability-listener");
        signals.dataAvailable();
    }

    @Override
    public void notifyPriorityEvent(int sequenceNumber) {
        faults.throwUnchecked("availability-listener");
        signals.priorityAvailable(sequenceNumber);
    }

    /** Lets the next call at this place fail; returns false if it cannot. */
    private boolean fault(String place, String kind, long nth) {
        switch (place) {
            case "availability-listener":
                faults.arm(place, kind, nth);
                return true;
            case "channel-state-writer":
                if (nth > 1) {
                    return false; // the recording writer lets the next call fail only
                }
                writer.failNextOutput(() -> signals.faultStruck(place, kind));
                return true;
            case "producer":
                faults.arm(place, kind, nth);
                partition.fail(Faults.failure(place)); // what the producer's task does
                return true;
            default:
                return false;
        }
    }

    /**
     * A poll that finds nothing asks why, as {@code PartitionRequestQueue.writeAndFlushNextMessageIfPossible} does. The
     * consumer gets the cause inside an exception of the transport.
     */
    private void askWhy() throws IOException {
        if (view != null && view.isReleased() && view.getFailureCause() != null) {
            faults.strike("producer");
            throw new IOException(view.getFailureCause());
        }
    }

    private ObjectNode poll() throws IOException {
        ResultSubpartition.BufferAndBacklog polled = SubpartitionAccess.poll(subpartition);
        if (polled == null) {
            askWhy();
            return null;
        }
        Buffer buffer = polled.buffer();
        try {
            ObjectNode taken = Json.object();
            taken.set("element", Elements.decode(buffer));
            return taken.put("seq", polled.getSequenceNumber())
                    .put("next", Elements.next(polled.getNextDataType()))
                    .put("backlog", polled.buffersInBacklog());
        } finally {
            buffer.recycleBuffer();
        }
    }

    private ObjectNode available(boolean hasCredit) {
        ResultSubpartitionView.AvailabilityWithBacklog found = subpartition.getAvailabilityAndBacklog(hasCredit);
        return Json.object().put("available", found.isAvailable()).put("backlog", found.getBacklog());
    }

    private ObjectNode resources() {
        return Json.object()
                .put("segments", segments.taken())
                .put("listeners", view == null || view.isReleased() ? 0 : 1)
                .put("futures", writer.openFutures());
    }
}
