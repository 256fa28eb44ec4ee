/**
 * An adapter in JavaScript: a subpartition and an input gate behind the JSON Lines protocol.
 *
 * The first part is a small engine: queues, channels, and the channel state that they write for a checkpoint. The last
 * part speaks the protocol; keep that part and put your own engine behind `COMPONENTS`. The engine is synchronous: it
 * has no locks, no operation waits, and every notification is handled before the next operation begins.
 */

/** The type of the element that can be polled next. */
const Next = Object.freeze({ NONE: "none", DATA: "data", EVENT: "event", PRIORITY: "priority" });

/** Recovered buffers are numbered from the smallest int of 32 bits, so that live elements can begin with 0. */
const FIRST_RECOVERED_SEQUENCE_NUMBER = -(2 ** 31);

/** Queued behind the last recovered buffer; a poll never hands it out. */
const END_OF_RECOVERED_STATE = Object.freeze({ type: "end-of-recovered-state" });

// ---- elements: the objects of the protocol, as they come ------------------------------------------------------------

const isData = (element) => element.type === "buffer";

const isBarrier = (element, checkpoint) => element.type === "barrier" && element.checkpoint === checkpoint;

const isUnaligned = (element) => element.type === "barrier" && element.alignment === "unaligned";

const isTimeoutable = (element) => element.type === "barrier" && element.alignment === "timeoutable";

const hasPriority = (element) => isUnaligned(element) || element.type === "announcement";

const blocksUpstream = (element) =>
  element.type === "recovery-completion" || (element.type === "barrier" && !isUnaligned(element));

const recordIds = (elements) => elements.filter(isData).flatMap((element) => element.ids);

function nextOf(element) {
  if (hasPriority(element)) return Next.PRIORITY;
  return isData(element) ? Next.DATA : Next.EVENT;
}

/** A FIFO with a priority section in front, which is a FIFO too. */
class PrioritizedQueue {
  items = [];
  priorityCount = 0;

  get size() {
    return this.items.length;
  }

  get head() {
    return this.items[0];
  }

  get last() {
    return this.items.at(-1);
  }

  get unprioritized() {
    return this.items.slice(this.priorityCount);
  }

  has(item) {
    return this.items.includes(item);
  }

  hasPriority(item) {
    return this.items.slice(0, this.priorityCount).includes(item);
  }

  add(item) {
    this.items.push(item);
  }

  addPriority(item) {
    this.items.splice(this.priorityCount, 0, item);
    this.priorityCount += 1;
  }

  poll() {
    this.priorityCount = Math.max(this.priorityCount - 1, 0);
    return this.items.shift();
  }

  remove(item) {
    const index = this.items.indexOf(item);
    if (index < 0) return;
    if (index < this.priorityCount) this.priorityCount -= 1;
    this.items.splice(index, 1);
  }

  clear() {
    this.items = [];
    this.priorityCount = 0;
  }
}

// ---- the producer's side --------------------------------------------------------------------------------------------

/** An element in a subpartition; for data, the buffer that the producer may still be writing into. */
class QueuedElement {
  constructor(element) {
    this.element = element;
    this.isBuffer = isData(element);
    this.ids = element.ids ?? [];
    this.finished = element.finished ?? true;
    /** Whether the consumer's side knows that the buffer is finished. After `add`, it learns so only from a poll. */
    this.seenFinished = this.finished;
  }

  get readable() {
    return !this.isBuffer || this.ids.length > 0;
  }

  /** Takes out what is readable now and returns it as an element of its own. */
  build() {
    if (!this.isBuffer) return this.element;
    const { ids } = this;
    this.ids = [];
    return { type: "buffer", ids };
  }
}

/** The producer's side of one channel: a FIFO that unaligned barriers overtake. */
class Subpartition {
  queue = new PrioritizedQueue();
  /** Data buffers in the queue. */
  backlog = 0;
  sequenceNumber = 0;
  viewAttached = false;
  blocked = false;
  flushRequested = false;
  finished = false;
  released = false;
  /** The checkpoint whose channel state future is open, or null. */
  promised = null;
  /** By checkpoint, what the channel state writer was given. */
  outputState = new Map();

  /** Calls `dataAvailable()` and `priorityAvailable(sequenceNumber)` of the listener. */
  constructor(exclusiveBuffers, listener) {
    // A consumer without exclusive buffers needs empty buffers too, to give their credit back.
    this.skipsEmptyBuffers = exclusiveBuffers > 0;
    this.listener = listener;
  }

  // producer

  add(element) {
    if (this.finished || this.released) return false;
    this.#enqueue(element);
    this.#notifyData();
    return true;
  }

  #enqueue(element) {
    if (isUnaligned(element)) {
      this.#writeOvertaken(element.checkpoint);
      this.#putInFront(element);
      return;
    }
    if (isTimeoutable(element)) this.#promise(element.checkpoint);
    if (isData(element)) this.backlog += 1;
    this.queue.add(new QueuedElement(element));
  }

  /** The data that an unaligned barrier overtakes is output state of its checkpoint. It still reaches the consumer. */
  #writeOvertaken(checkpoint) {
    const buffers = this.queue.unprioritized.filter((queued) => queued.isBuffer);
    if (buffers.length > 0) this.#write(checkpoint, buffers.flatMap((buffer) => buffer.ids));
  }

  #putInFront(barrier) {
    this.queue.addPriority(new QueuedElement(barrier));
    this.#notifyPriority();
  }

  append(ids) {
    this.queue.last.ids = [...this.queue.last.ids, ...ids];
  }

  finishBuffer() {
    this.queue.last.finished = true;
  }

  flush() {
    if (this.queue.size === 0 || this.flushRequested) return;
    const alone = this.queue.size === 1;
    this.flushRequested = !alone || this.queue.head.readable;
    if (alone && this.flushRequested && this.viewAttached && !this.blocked) this.listener.dataAvailable();
  }

  finish() {
    if (this.finished || this.released) return;
    this.#enqueue({ type: "end-of-partition" });
    this.finished = true;
    if (this.viewAttached) this.listener.dataAvailable();
  }

  recover(element) {
    this.add(element);
  }

  finishRecovery(block) {
    if (block) this.add({ type: "recovery-completion" });
  }

  // consumer

  attachView() {
    if (this.released) throw new PortError("state", "the subpartition is released");
    if (this.viewAttached) throw new PortError("state", "the subpartition has a view");
    this.viewAttached = true;
  }

  poll() {
    if (this.deliveryBlocked) return null;
    while (this.queue.size > 0) {
      const { head } = this.queue;
      // A timeoutable barrier that is polled in its place stays aligned: its future completes with no data.
      if (isBarrier(head.element, this.promised)) this.#keepPromise([]);
      if (this.queue.size === 1) this.flushRequested = false;
      const { readable } = head;
      head.seenFinished = head.finished;
      if (head.finished) {
        this.queue.poll();
        if (head.isBuffer) this.backlog -= 1;
      }
      if (readable || (head.finished && !this.skipsEmptyBuffers)) return this.#handOut(head);
      if (!head.finished) return null;
    }
    this.flushRequested = false;
    return null;
  }

  #handOut(queued) {
    if (blocksUpstream(queued.element)) this.blocked = true;
    const seq = this.sequenceNumber++;
    return { element: queued.build(), seq, next: this.nextType, backlog: this.announcedBacklog };
  }

  available(hasCredit) {
    const available = hasCredit ? this.somethingAvailable : this.queue.size > 0 && !this.queue.head.isBuffer;
    return { available, backlog: this.announcedBacklog };
  }

  resume() {
    if (!this.blocked) throw new PortError("state", "the subpartition is not blocked");
    this.blocked = false;
  }

  // what can leave, and notifications of the consumer

  /** Only priority events leave a blocked subpartition. */
  get deliveryBlocked() {
    return this.blocked && this.queue.priorityCount === 0;
  }

  get somethingAvailable() {
    return !this.deliveryBlocked && (this.flushRequested || this.#finishedCount > 0);
  }

  get nextType() {
    return this.queue.size > 0 && this.somethingAvailable ? nextOf(this.queue.head.element) : Next.NONE;
  }

  /** Only the last element may be unfinished. */
  get #finishedCount() {
    if (this.queue.size === 1) return this.queue.head.seenFinished ? 1 : 0;
    return Math.max(this.queue.size - 1, 0);
  }

  get announcedBacklog() {
    if (this.deliveryBlocked || this.queue.size === 0) return 0;
    if (this.flushRequested || this.finished || !this.queue.last.isBuffer) return this.backlog;
    return Math.max(this.backlog - 1, 0);
  }

  /** Announces the first finished element only: from then on the consumer polls until `next` is `none`. */
  #notifyData() {
    if (this.viewAttached && !this.flushRequested && !this.blocked && this.#finishedCount === 1) {
      this.listener.dataAvailable();
    }
  }

  /** Announces also while blocked: otherwise an unaligned barrier would wait until the consumer resumes the channel. */
  #notifyPriority() {
    if (this.viewAttached && this.queue.priorityCount === 1) this.listener.priorityAvailable(this.sequenceNumber);
  }

  // checkpoints

  alignedTimeout(checkpoint) {
    if (this.promised !== checkpoint) return;
    const { unprioritized } = this.queue;
    const position = unprioritized.findIndex((queued) => isBarrier(queued.element, checkpoint));
    this.queue.remove(unprioritized[position]);
    this.#keepPromise(unprioritized.slice(0, position).flatMap((queued) => queued.ids));
    this.#putInFront({ type: "barrier", checkpoint, alignment: "unaligned" });
  }

  abort(checkpoint, _reason) {
    if (this.promised === checkpoint) this.#breakPromise();
  }

  persisted(checkpoint) {
    return this.outputState.get(checkpoint) ?? { status: "absent" };
  }

  /** Opens a channel state future, which completes when the barrier is polled or becomes unaligned. */
  #promise(checkpoint) {
    this.#breakPromise();
    this.promised = checkpoint;
    this.outputState.set(checkpoint, { status: "pending" });
  }

  #breakPromise() {
    if (this.promised !== null) this.outputState.set(this.promised, { status: "failed" });
    this.promised = null;
  }

  #keepPromise(ids) {
    this.#write(this.promised, ids);
    this.promised = null;
  }

  #write(checkpoint, ids) {
    this.outputState.set(checkpoint, { status: "written", ids });
  }

  // release

  release() {
    this.queue.clear();
    this.backlog = 0;
    this.#breakPromise();
    this.viewAttached = false;
    this.released = true;
  }

  resources() {
    const futures = this.promised === null ? 0 : 1;
    return { segments: this.backlog, heap: 0, files: 0, listeners: this.viewAttached ? 1 : 0, futures };
  }
}

// ---- the consumer's side --------------------------------------------------------------------------------------------

/** Decides which buffers of a channel are input state of a checkpoint. */
class ChannelStatePersister {
  /** `completed`: no checkpoint is in progress; `pending`: its barrier is still to come; `received`: it came. */
  mode = "completed";
  written = new Map();

  /** `lastSeen` is the newest checkpoint that was started, stopped, or whose barrier came. */
  constructor(lastSeen) {
    this.lastSeen = lastSeen;
  }

  /** `known` are the ids of the records that are queued in front of the barrier. */
  start(checkpoint, known) {
    if (this.mode === "received" && this.lastSeen > checkpoint) throw subsumed(checkpoint, this.lastSeen);
    if (this.lastSeen < checkpoint) {
      this.mode = "pending";
      this.lastSeen = checkpoint;
    }
    this.#write(checkpoint, known);
  }

  /** A late stop of an older checkpoint changes nothing. */
  stop(checkpoint) {
    if (checkpoint < this.lastSeen) return;
    this.mode = "completed";
    this.lastSeen = checkpoint;
  }

  /** Looks at a live element. Returns whether it is the barrier of a checkpoint that is not over. */
  inspect(element) {
    if (isData(element) && this.mode === "pending") this.#write(this.lastSeen, element.ids);
    if (element.type !== "barrier") return false;
    const { checkpoint } = element;
    if (checkpoint < this.lastSeen || (checkpoint === this.lastSeen && this.mode === "completed")) return false;
    this.mode = "received";
    this.lastSeen = checkpoint;
    return true;
  }

  persisted(checkpoint) {
    return this.written.get(checkpoint) ?? [];
  }

  #write(checkpoint, ids) {
    this.written.set(checkpoint, [...this.persisted(checkpoint), ...ids]);
  }
}

function subsumed(checkpoint, newer) {
  const reason = `the barrier of checkpoint ${newer} came before checkpoint ${checkpoint} started`;
  return new PortError("checkpoint", reason, "subsumed");
}

/** The placeholder of a channel while its state is read. */
class RecoveredChannel {
  queue = [];
  sequenceNumber = FIRST_RECOVERED_SEQUENCE_NUMBER;
  /** Whether all state was read. */
  stateRead = false;
  /** Whether the consumer has taken the end of recovered state. */
  consumed = false;
  released = false;
  /** The newest checkpoint that was stopped here. The physical channel begins with it. */
  lastStopped = 0;

  constructor(gate, index, recovery) {
    this.gate = gate;
    this.index = index;
    this.recovery = recovery;
  }

  recover(buffer) {
    if (this.released) return;
    if (this.stateRead) throw new PortError("state", "all recovered state was read before");
    this.queue.push(buffer);
    if (this.queue.length === 1) this.gate.dataAvailable(this);
  }

  finishRecovery() {
    this.recover(END_OF_RECOVERED_STATE);
    this.stateRead = true;
  }

  take() {
    const element = this.queue.shift();
    if (element === undefined) return null;
    if (element === END_OF_RECOVERED_STATE) {
      this.consumed = true;
      this.gate.emit({ type: "state-consumed", channel: this.index });
      return null;
    }
    const next = this.queue.length > 0 ? nextOf(this.queue[0]) : Next.NONE;
    return { element, seq: this.sequenceNumber++, next };
  }

  /** Whether conversion loses no state. With `in-memory` it hands over what the consumer has not taken. */
  get convertible() {
    return this.recovery === "in-memory" ? this.stateRead : this.consumed;
  }

  /** The buffers that the physical channel takes over. */
  handOver() {
    const buffers = this.queue.filter(isData);
    this.release();
    return buffers;
  }

  checkpointStarted() {
    throw new PortError("checkpoint", "the channel is still recovering", "declined-task-not-ready");
  }

  checkpointStopped(checkpoint) {
    this.lastStopped = Math.max(this.lastStopped, checkpoint);
  }

  inUse() {
    return this.queue.filter(isData).length;
  }

  persisted() {
    return [];
  }

  release() {
    this.released = true;
    this.queue = [];
  }

  resources() {
    return { segments: this.inUse(), listeners: 0, futures: this.consumed || this.released ? 0 : 1 };
  }
}

/**
 * What local and remote channels share: priority events first, then recovered buffers, then live elements.
 *
 * A subclass has `arrive`, `request`, `resume`, `checkpointStarted` and, for live elements, `hasPriority`, `nextLive`,
 * `takeLive` and `liveBuffers`.
 */
class PhysicalChannel {
  recoveredSequenceNumber = FIRST_RECOVERED_SEQUENCE_NUMBER;
  requested = false;
  released = false;
  /** Whether the end of partition was polled. */
  ended = false;

  constructor(gate, index, recovered, lastStopped) {
    this.gate = gate;
    this.index = index;
    this.recovered = recovered;
    this.persister = new ChannelStatePersister(lastStopped);
  }

  recover() {
    if (!this.released) throw new PortError("state", `the recovery of channel ${this.index} is over`);
  }

  finishRecovery() {
    this.recover();
  }

  take() {
    if (this.released) return null;
    const taken = this.recovered.length > 0 && !this.hasPriority ? this.#takeRecovered() : this.takeLive();
    return taken && { ...taken, next: this.nextType };
  }

  /** Recovered buffers are written when a checkpoint starts, and never when they are taken. */
  #takeRecovered() {
    return { element: this.recovered.shift(), seq: this.recoveredSequenceNumber++ };
  }

  get nextType() {
    if (this.hasPriority) return Next.PRIORITY;
    return this.recovered.length > 0 ? Next.DATA : this.nextLive;
  }

  /** Called after every change that may have made an element readable. */
  notifyIfReadable() {
    if (this.nextType === Next.PRIORITY) this.gate.priorityAvailable(this);
    else if (this.nextType !== Next.NONE) this.gate.dataAvailable(this);
  }

  checkpointStopped(checkpoint) {
    this.persister.stop(checkpoint);
  }

  inUse() {
    return this.recovered.length + this.liveBuffers;
  }

  persisted(checkpoint) {
    return this.persister.persisted(checkpoint);
  }

  release() {
    this.released = true;
    this.recovered = [];
  }
}

/** A channel whose producer is in this process: it reads the subpartition directly. */
class LocalChannel extends PhysicalChannel {
  constructor(gate, index, recovered, lastStopped, config) {
    super(gate, index, recovered, lastStopped);
    this.subpartition = new Subpartition(config.exclusive_buffers ?? 2, {
      dataAvailable: () => gate.dataAvailable(this),
      priorityAvailable: () => gate.priorityAvailable(this),
    });
  }

  arrive(element) {
    if (element.type === "end-of-partition") this.subpartition.finish();
    else this.subpartition.add(element);
  }

  request() {
    this.subpartition.attachView();
    this.requested = true;
    this.notifyIfReadable();
  }

  get hasPriority() {
    return this.requested && this.subpartition.queue.priorityCount > 0;
  }

  get nextLive() {
    return this.requested ? this.subpartition.nextType : Next.NONE;
  }

  takeLive() {
    const taken = this.requested ? this.subpartition.poll() : null;
    if (taken !== null) this.persister.inspect(taken.element);
    return taken;
  }

  get liveBuffers() {
    return this.requested ? this.subpartition.backlog : 0;
  }

  resume() {
    this.subpartition.resume();
    this.notifyIfReadable();
  }

  /** Live data is still in the subpartition, which writes it as output state if the barrier overtakes it there. */
  checkpointStarted(checkpoint) {
    this.persister.start(checkpoint, recordIds(this.recovered));
  }

  release() {
    super.release();
    this.subpartition.release();
    this.requested = false;
  }

  resources() {
    const held = this.subpartition.resources();
    return { ...held, segments: held.segments + this.recovered.length };
  }
}

/** The floating buffers of a gate. A channel that finds none stands in line. */
class FloatingPool {
  line = new Set();

  constructor(size) {
    this.free = size;
  }

  lend(channel) {
    if (this.free === 0) {
      this.line.add(channel);
      return false;
    }
    this.free -= 1;
    return true;
  }

  giveBack(count) {
    this.free += count;
    const waiting = [...this.line];
    this.line.clear();
    for (const channel of waiting) channel.borrow();
  }
}

/** A channel over the network: elements that arrived wait here. The producer needs credit for each data buffer. */
class RemoteChannel extends PhysicalChannel {
  /** Elements with their sequence numbers, and the kind of buffer that they took, if any: exclusive or floating. */
  received = new PrioritizedQueue();
  expectedSequenceNumber = 0;
  free = { exclusive: 0, floating: 0 };
  /** How many free buffers the last backlog of the producer asks for. */
  required = 0;
  /** The newest barrier that arrived: its checkpoint and sequence number. */
  lastBarrier = null;

  constructor(gate, index, recovered, lastStopped, config) {
    super(gate, index, recovered, lastStopped);
    this.exclusiveBuffers = config.exclusive_buffers ?? 2;
  }

  get freeBuffers() {
    return this.free.exclusive + this.free.floating;
  }

  arrive(element, backlog) {
    if (this.released) return;
    const seq = this.expectedSequenceNumber++;
    this.#enqueue(element, seq);
    const newest = this.lastBarrier?.checkpoint ?? 0;
    if (this.persister.inspect(element) && element.checkpoint > newest) {
      this.lastBarrier = { checkpoint: element.checkpoint, seq };
    }
    if (blocksUpstream(element) && this.exclusiveBuffers === 0) this.#returnFloating();
    this.notifyIfReadable();
    if (backlog >= 0) {
      this.required = backlog + this.exclusiveBuffers;
      this.borrow();
    }
  }

  /** Borrows floating buffers until there are as many free buffers as required, and announces them as credit. */
  borrow() {
    let credit = 0;
    while (!this.released && this.freeBuffers < this.required && this.gate.pool.lend(this)) {
      this.free.floating += 1;
      credit += 1;
    }
    if (credit > 0) this.gate.emit({ type: "credit-announced", credit, channel: this.index });
  }

  /** A blocked producer needs no credit. */
  #returnFloating() {
    this.required = 0;
    const freed = this.free.floating;
    this.free.floating = 0;
    this.gate.pool.giveBack(freed);
  }

  /** Data that arrives without credit gets memory of its own, for which no credit is announced afterwards. */
  #takeBuffer() {
    const kind = this.free.floating > 0 ? "floating" : this.free.exclusive > 0 ? "exclusive" : null;
    if (kind !== null) this.free[kind] -= 1;
    this.required -= 1;
    return kind;
  }

  #enqueue(element, seq) {
    const received = { element, seq, buffer: isData(element) ? this.#takeBuffer() : null };
    if (hasPriority(element)) {
      this.received.addPriority(received);
      return;
    }
    this.received.add(received);
    if (isTimeoutable(element)) {
      const announcement = { type: "announcement", checkpoint: element.checkpoint, seq };
      this.received.addPriority({ element: announcement, seq, buffer: null });
    }
  }

  /** The request carries the initial credit. */
  request() {
    this.requested = true;
    this.free.exclusive = this.exclusiveBuffers;
    this.notifyIfReadable();
  }

  get hasPriority() {
    return this.received.priorityCount > 0;
  }

  get nextLive() {
    return this.received.size > 0 ? nextOf(this.received.head.element) : Next.NONE;
  }

  takeLive() {
    const taken = this.received.poll();
    if (taken === undefined) return null;
    if (taken.buffer !== null) this.#recycle(taken.buffer);
    return taken;
  }

  /**
   * The consumer reads a buffer before it polls again, so the buffer is free at once. A floating one returns to the pool,
   * and so does one in exchange for an exclusive one that is more than the producer needs.
   */
  #recycle(kind) {
    if (kind === "exclusive") this.free.exclusive += 1;
    if (kind === "floating") this.gate.pool.giveBack(1);
    else if (this.free.floating > 0 && this.freeBuffers > this.required) {
      this.free.floating -= 1;
      this.gate.pool.giveBack(1);
    } else this.gate.emit({ type: "credit-announced", credit: 1, channel: this.index });
  }

  get liveBuffers() {
    return this.received.items.filter(({ element }) => isData(element)).length;
  }

  resume() {
    if (this.released) throw new PortError("state", "the channel is released");
    this.gate.emit({ type: "consumption-resumed", channel: this.index });
  }

  checkpointStarted(checkpoint) {
    const newest = this.lastBarrier?.checkpoint ?? checkpoint;
    if (checkpoint < newest) throw subsumed(checkpoint, newest);
    if (checkpoint > newest) this.lastBarrier = null;
    const barrierSeq = this.lastBarrier?.seq ?? Infinity;
    const inFront = this.received.items.filter(({ seq }) => seq < barrierSeq).map(({ element }) => element);
    this.persister.start(checkpoint, recordIds([...this.recovered, ...inFront]));
  }

  checkpointStopped(checkpoint) {
    super.checkpointStopped(checkpoint);
    if (checkpoint === this.lastBarrier?.checkpoint) this.lastBarrier = null;
  }

  /** The announced barrier overtakes what is queued. */
  convertToPriority(seq) {
    const announced = this.received.unprioritized.find((received) => received.seq === seq);
    if (this.lastBarrier?.seq !== seq || announced === undefined) {
      throw new PortError("state", `element ${seq} is not the last barrier of this channel`);
    }
    this.received.remove(announced);
    this.received.addPriority({ ...announced, element: { ...announced.element, alignment: "unaligned" } });
    this.gate.priorityAvailable(this);
  }

  release() {
    super.release();
    const borrowed = this.free.floating + this.received.items.filter(({ buffer }) => buffer === "floating").length;
    this.received.clear();
    this.free = { exclusive: 0, floating: 0 };
    this.gate.pool.line.delete(this);
    this.gate.pool.giveBack(borrowed);
  }

  resources() {
    const used = this.received.items.filter(({ buffer }) => buffer !== null).length;
    return { segments: this.freeBuffers + used + this.recovered.length, listeners: 0, futures: 0 };
  }
}

/** All channels of one input, seen as one queue. */
class Gate {
  /** Channels that have an element; channels with a priority event come first. */
  channelsWithData = new PrioritizedQueue();
  converted;
  requested = false;
  released = false;

  constructor(config, emit) {
    const recovery = config.recovery ?? "none";
    if (!["none", "recover-first", "in-memory"].includes(recovery)) throw new Error(`no recovery ${recovery} here`);
    if (config.gates.length !== 1) throw new Error("no unions of gates here");
    this.config = config;
    this.emit = emit;
    this.pool = new FloatingPool(config.floating_buffers ?? 2);
    this.converted = recovery === "none";
    this.channels = config.gates[0].map((_, index) =>
      this.converted ? this.#physicalChannel(index, [], 0) : new RecoveredChannel(this, index, recovery),
    );
    /** The channels whose producers have not sent all their recovered output state. */
    this.unrestored = new Set(this.channels.keys());
  }

  #physicalChannel(index, recovered, lastStopped) {
    const Kind = this.config.gates[0][index] === "local" ? LocalChannel : RemoteChannel;
    return new Kind(this, index, recovered, lastStopped, this.config);
  }

  #physical(index) {
    const channel = this.channels[index];
    if (!(channel instanceof PhysicalChannel)) throw new PortError("state", `channel ${index} is not converted yet`);
    return channel;
  }

  // recovery

  recover(channel, data) {
    this.channels[channel].recover(data);
  }

  finishRecovery(channel) {
    this.channels[channel].finishRecovery();
  }

  /** A gate stands alone here, so its number says nothing new. */
  convert(_gate) {
    if (this.converted) return;
    if (this.released || !this.channels.every((channel) => channel.convertible)) {
      throw new PortError("state", "a channel has state that conversion would lose, or the gate is released");
    }
    this.converted = true;
    for (const [index, old] of this.channels.entries()) {
      this.channelsWithData.remove(old);
      this.channels[index] = this.#physicalChannel(index, old.handOver(), old.lastStopped);
      this.channels[index].notifyIfReadable();
    }
  }

  requestPartitions(_gate) {
    if (this.released || !this.converted) {
      throw new PortError("state", "the gate is released, or its channels are not converted yet");
    }
    if (this.requested) return;
    this.requested = true;
    for (const channel of this.channels) channel.request();
  }

  /** No producer may send live data while another one sends recovered data, so all are resumed together. */
  endOfOutputState(channel) {
    if (!this.unrestored.delete(channel)) {
      throw new PortError("state", `channel ${channel} has sent the end of its output state before`);
    }
    if (this.unrestored.size === 0) this.channels.forEach((_, index) => this.resume(index));
  }

  // notifications from the channels

  dataAvailable(channel) {
    if (channel.released || this.channelsWithData.has(channel)) return;
    this.channelsWithData.add(channel);
    this.#notify();
  }

  /** An engine with threads must ignore a notification whose event was polled meanwhile. */
  priorityAvailable(channel) {
    if (channel.released || this.channelsWithData.hasPriority(channel)) return;
    this.channelsWithData.remove(channel);
    this.channelsWithData.addPriority(channel);
    if (this.channelsWithData.priorityCount === 1) this.emit({ type: "priority-available", seq: -1 });
    this.#notify();
  }

  #notify() {
    if (this.channelsWithData.size === 1) this.emit({ type: "data-available" });
  }

  // consumer

  poll() {
    if (this.finished()) return null;
    if (this.released) throw new PortError("released", "the gate is closed");
    while (this.channelsWithData.size > 0) {
      const channel = this.channelsWithData.poll();
      const taken = channel.take();
      if (taken !== null) return this.#handOut(channel, taken);
    }
    return null;
  }

  #handOut(channel, { element, next }) {
    // The channel goes behind all others, so that each channel gives one element in turn.
    if (next === Next.PRIORITY) this.channelsWithData.addPriority(channel);
    else if (next !== Next.NONE) this.channelsWithData.add(channel);
    if (element.type === "end-of-partition") this.#end(channel);
    const { size, priorityCount } = this.channelsWithData;
    return { channel: channel.index, element, more: size > 0, more_priority: priorityCount > 0 };
  }

  #end(channel) {
    channel.ended = true;
    channel.release();
    this.channelsWithData.remove(channel);
    if (this.finished()) this.emit({ type: "data-available" });
  }

  resume(channel) {
    this.#physical(channel).resume();
  }

  available() {
    return this.channelsWithData.size > 0 || this.finished();
  }

  finished() {
    return this.channels.every((channel) => channel.ended);
  }

  // checkpoints

  /** Does nothing: this gate pushes no recovered buffers into physical channels. */
  insertRecoveryBarriers(_checkpoint) {}

  checkpointStarted(barrier) {
    for (const channel of this.channels) channel.checkpointStarted(barrier.checkpoint);
  }

  checkpointStopped(checkpoint) {
    for (const channel of this.channels) channel.checkpointStopped(checkpoint);
  }

  convertToPriority(channel, seq) {
    const remote = this.channels[channel];
    if (!(remote instanceof RemoteChannel)) throw new PortError("state", `channel ${channel} announces no barrier`);
    remote.convertToPriority(seq);
  }

  persisted(checkpoint) {
    return this.channels.map((channel) => channel.persisted(checkpoint));
  }

  // network, observers, release

  arrive(channel, element, backlog) {
    this.#physical(channel).arrive(element, backlog);
  }

  inUse(channel) {
    return this.channels[channel].inUse();
  }

  release() {
    this.released = true;
    for (const channel of this.channels) channel.release();
    this.channelsWithData.clear();
  }

  resources() {
    const held = this.channels.map((channel) => channel.resources());
    const sum = (name) => held.reduce((total, one) => total + one[name], 0);
    return { segments: sum("segments"), heap: 0, files: 0, listeners: sum("listeners"), futures: sum("futures") };
  }
}

// ---- the protocol ---------------------------------------------------------------------------------------------------

const PROTOCOL = 4;

const words = (text) => text.trim().split(/\s+/);

const CAPABILITIES = [
  "blocked-priority-local",
  "blocked-priority-remote",
  "timeoutable-barriers",
  "output-recovered-upstream",
  "persisted-readback",
  "resources",
  "recover-first",
  "recover-in-memory",
];

/** The settings of each component, how to make it, and its operations as the protocol names them; its methods have camelCase names. */
const COMPONENTS = {
  subpartition: {
    settings: words("exclusive_buffers"),
    make: (config, emit) =>
      new Subpartition(config.exclusive_buffers ?? 2, {
        dataAvailable: () => emit({ type: "data-available" }),
        priorityAvailable: (seq) => emit({ type: "priority-available", seq }),
      }),
    operations: words(`
      add append finish_buffer flush finish attach_view poll available resume aligned_timeout abort recover
      finish_recovery persisted resources release`),
  },
  gate: {
    settings: words("gates recovery exclusive_buffers floating_buffers"),
    make: (config, emit) => new Gate(config, emit),
    operations: words(`
      recover finish_recovery convert request_partitions poll resume end_of_output_state insert_recovery_barriers
      checkpoint_started checkpoint_stopped convert_to_priority arrive available in_use finished persisted resources
      release`),
  },
};

/** An error that the port asks for. The suite counts any other exception as a crash. */
class PortError extends Error {
  constructor(kind, reason, checkpointReason) {
    super(reason);
    this.kind = kind;
    this.checkpointReason = checkpointReason;
  }
}

/** A request that is wrong; it is answered with `error`. */
class Refusal extends Error {}

/** Answers requests. One component is open at a time. */
class Server {
  #component = null;
  #port = null;
  #signals = [];

  answer(request) {
    switch (request.type) {
      case "hello":
        return this.#greet(request.protocol);
      case "open":
        this.#open(request.component, request.config);
        return { type: "opened" };
      case "call":
        return { type: "outcome", outcome: this.#call(request.call) };
      case "scenario":
        return { type: "outcomes", outcomes: this.#scenario(request) };
      case "close":
        return { type: "closed" };
      default: // also `resume`, since no operation here waits
        throw new Refusal(`there is no request ${request.type} here`);
    }
  }

  #greet(protocol) {
    if (protocol !== PROTOCOL) throw new Refusal(`this program speaks protocol ${PROTOCOL}, not ${protocol}`);
    const about = { name: "node-example", version: "1.0", capabilities: CAPABILITIES };
    return { type: "hello", protocol: PROTOCOL, ...about, components: Object.keys(COMPONENTS) };
  }

  #open(component, config) {
    if (!Object.hasOwn(COMPONENTS, component)) throw new Refusal(`there is no component ${component}`);
    // A setting that is not known must not be ignored: another configuration would be tested.
    const unknown = Object.keys(config).filter((name) => !COMPONENTS[component].settings.includes(name));
    if (unknown.length > 0) throw new Refusal(`${component} has no setting ${unknown.join(", ")}`);
    this.#component = COMPONENTS[component];
    this.#signals = [];
    this.#port = this.#component.make(config, (signal) => this.#signals.push(signal));
  }

  #scenario({ component, config, calls }) {
    this.#port = null;
    return calls.map((call) => {
      if (call[0] !== "new") return this.#call(call);
      this.#open(component, call[1] ?? config); // a fresh object, also where a scenario restores
      return {};
    });
  }

  #call([operation, ...operands]) {
    if (this.#port === null) throw new Refusal("no object is open");
    if (!this.#component.operations.includes(operation)) throw new Refusal(`there is no method ${operation}`);
    const method = operation.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    const expected = this.#port[method].length;
    if (operands.length !== expected) {
      throw new Refusal(`${operation} has ${expected} operands, not ${operands.length}`);
    }
    const outcome = {};
    try {
      outcome.value = this.#port[method](...operands);
    } catch (error) {
      outcome.error = describe(error);
    }
    if (this.#signals.length > 0) outcome.signals = this.#signals.splice(0);
    return outcome;
  }
}

function describe(error) {
  if (!(error instanceof PortError)) return { kind: "crashed", reason: String(error?.stack ?? error) };
  const told = { kind: error.kind, reason: error.message };
  return error.checkpointReason ? { ...told, checkpoint_reason: error.checkpointReason } : told;
}

/** Lines end with a line feed only. `node:readline` splits at other characters too, which JSON texts may contain. */
async function* linesOf(stream) {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    yield* lines;
  }
}

/** One answer for each request, until `close` or the end of the requests. */
async function serve(requests, answers) {
  const server = new Server();
  for await (const line of linesOf(requests)) {
    let answer;
    try {
      answer = server.answer(JSON.parse(line));
    } catch (error) {
      answer = { type: "error", reason: String(error?.message ?? error) };
    }
    answers.write(`${JSON.stringify(answer)}\n`);
    if (answer.type === "closed") return;
  }
}

await serve(process.stdin, process.stdout);
