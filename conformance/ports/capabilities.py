"""The features that an implementation can claim. They decide which properties apply; its version never does."""

from __future__ import annotations

from conformance.ports.word import Word


class Capability(Word):
    """One feature. The text below a value says what an implementation that claims it promises."""

    BLOCKED_PRIORITY_LOCAL = "blocked-priority-local"
    """A blocked subpartition announces priority events and delivers them (FLINK-39018). Without it, a blocked
    subpartition neither announces priority events nor delivers them before it is resumed, and reports that nothing is
    available; so does a local channel."""
    BLOCKED_PRIORITY_REMOTE = "blocked-priority-remote"
    """A blocked subpartition does the same for a reader over the network, whether it has credit or not. Without it,
    what a reader over the network finds then is not judged."""
    TIMEOUTABLE_BARRIERS = "timeoutable-barriers"
    """A timeoutable barrier becomes unaligned if the alignment timeout fires while it is queued (FLINK-19681). Without
    it, no alignment times out in a subpartition, a channel or a gate: `aligned_timeout` and `convert_to_priority` are
    not called, and a timeoutable barrier stays aligned. Components that know the time, such as the barrier handler, are
    judged as with it."""
    OUTPUT_RECOVERED_UPSTREAM = "output-recovered-upstream"
    """A subpartition can recover output state. Without it, no scenario recovers output state there."""
    OUTPUT_RECOVERED_DOWNSTREAM = "output-recovered-downstream"
    """State assignment can give output state to the consumers, which recover it (in Flink since 2.3). Without it, no
    scenario of state assignment does."""
    PERSISTED_READBACK = "persisted-readback"
    """`persisted(checkpoint)` returns what was given to the channel state writer. Without it, what it returns is not
    judged, but it must return, also when a scenario restores: a local channel recovers then what it has returned. An
    engine that cannot read back returns the empty value of the type, as if nothing was written: `absent`, or no records
    in any channel. Chains are not tested."""
    RESOURCES = "resources"
    """`resources()` returns real counts. Without it, counts may be null, and what is held is not judged."""
    STEPPING = "stepping"
    """Operations pause at their locks and wherever they wait, so that a scenario can interleave them there. Without it,
    every operation runs until it ends or must wait, and races inside of operations are not tested."""
    BEGINS_ANYWHERE = "begins-anywhere"
    """A remote channel can begin with any sequence number, as after a long run. Sequence numbers have 32 bits and wrap
    around. Without it, every channel begins with the sequence number 0."""
    UNIONS = "unions"
    """Several gates can be read as one. Without it, every gate stands alone."""
    FAULTS = "faults"
    """`fault` lets what a component calls fail. It returns false if what is called there cannot be let fail: nothing is
    armed then, and nothing is judged of it. Of an implementation that returns false to every fault, reports say that
    it never used the capability. Without it, `fault` is not called, and nothing fails."""
    RECOVERS_FIRST = "recover-first"
    """The consumer takes all recovered data before a channel is converted and before the first checkpoint starts.
    Without it, no scenario recovers in this way."""
    RECOVERS_IN_MEMORY = "recover-in-memory"
    """Conversion moves recovered buffers into the physical channel, and a checkpoint can contain them (FLINK-39018).
    Without it, no scenario recovers in this way."""
    RECOVERS_BY_PUSHING = "recover-by-pushing"
    """Recovered buffers are pushed into the physical channel, and live data waits behind them (FLINK-38544). Without
    it, no scenario recovers in this way."""
    NOT_READY_WITHOUT_BARRIER = "not-ready-without-barrier"
    """A checkpoint that starts in a channel in recovery without its recovery barrier is declined as
    `declined-task-not-ready`, as in the first design of FLINK-38544. Without it, it is declined as
    `declined`, which counts as a failure of the checkpoint."""
    DOWN_GATE = "down-gate"
    """An event that the coordinator sends after its part of a checkpoint reaches a subtask only after the subtask has
    taken its snapshot, whether the subtask is a source or not (FLINK-26029). Without it, no scenario takes checkpoints
    with subtasks that are no sources."""
    UP_GATE = "up-gate"
    """A checkpoint contains the same reports on both sides: each one that a subtask has sent before its snapshot was
    received before the coordinator's part, or is stored for replay (FLINK-28639). Without it, which reports a
    checkpoint contains is not judged."""
    UP_BLOCKED = "up-blocked"
    """Reports are held back in the subtasks while a checkpoint is in progress. An engine can satisfy `up-gate` in
    another way, for example by storing in the coordinator's state what arrives after its cut. Without it, whether they
    are held back is not judged."""
    FILTERS_RECORDS = "filters-records"
    """A task that was rescaled demultiplexes and filters recovered channel state by record (FLINK-35351, FLINK-38930).
    Without it, no scenario of a filter rescales the task."""
    ONE_BUFFER_BEFORE_THE_FILTER = "one-buffer-before-the-filter"
    """What is filtered is read into one heap segment for each task, which is used again for each chunk (FLINK-39519).
    Without it, where chunks are read into is not judged, and neither `request_before_filter` nor `before_filter` is
    called."""
    BOUNDED_FILTER_MEMORY = "bounded-filter-memory"
    """Recovery needs as much memory for a large state as for a small one: what is filtered goes to buffers of a pool
    that is bounded, or to files. Without it, as in engines that fall back to the heap, memory is not judged."""
    PARTIAL_RECORDS_IN_FILES = "partial-records-in-files"
    """How many bytes of a record that has not ended stay in memory can be configured. Without it, no scenario does."""
    ALIGNS_AT_RECEIVER = "aligns-at-receiver"
    """The receiver aligns: it stops reading a channel behind an aligned barrier, and the producer goes on. Records and
    ends arrive in a consumer loop behind such a barrier. Without it, nothing arrives there until the channel is
    resumed."""
    ALIGNED_EDGES = "aligned-edges"
    """An edge can be without unaligned checkpoints: every barrier crosses it aligned (FLINK-21945, FLINK-33693).
    Without it, no chain has such an edge. A job always has: what it forwards, rescales or broadcasts."""
    SAYS_HOW_TAKEN = "says-how-taken"
    """The acknowledgement of a checkpoint says whether the task has taken its part unaligned, how much data in flight
    is stored, and how long the alignment took. A subtask checkpoint coordinator gets what it needs for that. Without
    it, neither `state_written` nor `aligned` is called there, and what an acknowledgement says is not judged there."""
    RESCALES_FORCED_EDGES = "rescales-forced-edges"
    """Edges with a custom partitioner can have channel state and be rescaled, as if the user forces unaligned
    checkpoints. Without it, no scenario does that."""
    JOB_STEPS = "job-steps"
    """A scenario says which thread of a job works next, which message is lost, and how time passes. Without it, the
    threads of a job work on their own."""
    CHECKPOINT_READBACK = "checkpoint-readback"
    """What a checkpoint of a job holds can be read back, and what its operators have. Without it, jobs are judged by
    their output, and by where splits are if a checkpoint says so."""
