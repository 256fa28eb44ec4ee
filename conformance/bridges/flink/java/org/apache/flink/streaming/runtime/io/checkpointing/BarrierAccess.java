package org.apache.flink.streaming.runtime.io.checkpointing;

/** Calls code of Flink that only its own package may call. */
public final class BarrierAccess {

    private BarrierAccess() {}

    public static boolean isCheckpointPending(CheckpointBarrierHandler handler) {
        return handler.isCheckpointPending();
    }
}
