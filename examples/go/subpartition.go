package main

import "encoding/json"

// Element is an element of the protocol. What the engine does not look at stays as it came.
type Element struct {
	Type       string
	IDs        []int64
	Finished   bool
	Checkpoint int64
	Alignment  string
	text       json.RawMessage
}

// UnmarshalJSON reads the fields that the engine looks at. A buffer is finished unless it says otherwise.
func (e *Element) UnmarshalJSON(text []byte) error {
	fields := struct {
		Type       string  `json:"type"`
		IDs        []int64 `json:"ids"`
		Finished   bool    `json:"finished"`
		Checkpoint int64   `json:"checkpoint"`
		Alignment  string  `json:"alignment"`
	}{Finished: true}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	kept := append(json.RawMessage(nil), text...)
	*e = Element{fields.Type, fields.IDs, fields.Finished, fields.Checkpoint, fields.Alignment, kept}
	return nil
}

// MarshalJSON writes the element as it came, or what the engine has made.
func (e Element) MarshalJSON() ([]byte, error) {
	switch {
	case e.text != nil:
		return e.text, nil
	case e.isBuffer():
		return json.Marshal(map[string]any{"type": e.Type, "ids": append([]int64{}, e.IDs...)})
	case e.Type == "barrier":
		return json.Marshal(map[string]any{"type": e.Type, "checkpoint": e.Checkpoint, "alignment": e.Alignment})
	default:
		return json.Marshal(map[string]any{"type": e.Type})
	}
}

func (e Element) isBuffer() bool      { return e.Type == "buffer" }
func (e Element) isUnaligned() bool   { return e.Type == "barrier" && e.Alignment == "unaligned" }
func (e Element) isTimeoutable() bool { return e.Type == "barrier" && e.Alignment == "timeoutable" }
func (e Element) hasPriority() bool   { return e.isUnaligned() || e.Type == "announcement" }

func (e Element) isBarrierOf(checkpoint int64) bool {
	return e.Type == "barrier" && e.Checkpoint == checkpoint
}

func (e Element) blocksUpstream() bool {
	return e.Type == "recovery-completion" || (e.Type == "barrier" && !e.isUnaligned())
}

// BufferAndBacklog is a polled element.
type BufferAndBacklog struct {
	Element        Element `json:"element"`
	SequenceNumber int64   `json:"seq"`
	Next           string  `json:"next"`
	Backlog        int     `json:"backlog"`
}

// Availability says whether something can be polled.
type Availability struct {
	Available bool `json:"available"`
	Backlog   int  `json:"backlog"`
}

// OutputState is what the channel state writer was given for one checkpoint.
type OutputState struct {
	Status string  `json:"status"`
	IDs    []int64 `json:"ids,omitempty"`
}

// Listener is the consumer, which is notified.
type Listener interface {
	DataAvailable()
	PriorityAvailable(sequenceNumber int64)
}

// queued is an element in the queue; for a buffer, the one that the producer may still be writing into.
type queued struct {
	element  Element
	ids      []int64
	finished bool
	// seenFinished: the consumer's side knows that the buffer is finished. After Add, it learns so only from a poll.
	seenFinished bool
}

func (q *queued) isReadable() bool { return !q.element.isBuffer() || len(q.ids) > 0 }

// build takes out what is readable now and returns it as an element of its own.
func (q *queued) build() Element {
	if !q.element.isBuffer() {
		return q.element
	}
	ids := q.ids
	q.ids = nil
	return Element{Type: "buffer", IDs: ids}
}

// Subpartition is the producer's side of one channel: a FIFO that unaligned barriers overtake.
type Subpartition struct {
	listener Listener
	// skipsEmptyBuffers: a consumer without exclusive buffers needs empty buffers too, to give their credit back.
	skipsEmptyBuffers bool

	queue []*queued
	// priorityCount elements in front have priority.
	priorityCount int
	// backlog counts the buffers in the queue.
	backlog        int
	sequenceNumber int64

	viewAttached, blocked, flushRequested, finished, released bool

	// promised is the checkpoint whose channel state future is open, if any.
	promised *int64
	written  map[int64]OutputState
}

// NewSubpartition makes an empty subpartition that no view is attached to.
func NewSubpartition(exclusiveBuffers int64, listener Listener) *Subpartition {
	return &Subpartition{
		listener: listener, skipsEmptyBuffers: exclusiveBuffers > 0, written: map[int64]OutputState{},
	}
}

// ---- the producer ----------------------------------------------------------------------------------------------------

// Add appends an element, or puts an unaligned barrier in front. It returns whether the element was taken.
func (s *Subpartition) Add(element Element) bool {
	if s.finished || s.released {
		return false
	}
	s.enqueue(element)
	// Only the first finished element is announced: from then on the consumer polls until next is none.
	if s.viewAttached && !s.flushRequested && !s.blocked && s.finishedCount() == 1 {
		s.listener.DataAvailable()
	}
	return true
}

func (s *Subpartition) enqueue(element Element) {
	if element.isUnaligned() {
		// The data that it overtakes is output state of its checkpoint. It still reaches the consumer.
		if ids, buffers := recordsIn(s.queue[s.priorityCount:]); buffers > 0 {
			s.write(element.Checkpoint, ids)
		}
		s.putInFront(element)
		return
	}
	if element.isTimeoutable() {
		s.promise(element.Checkpoint)
	}
	if element.isBuffer() {
		s.backlog++
	}
	s.queue = append(s.queue, newQueued(element))
}

func newQueued(element Element) *queued {
	finished := element.Finished || !element.isBuffer()
	return &queued{element: element, ids: element.IDs, finished: finished, seenFinished: finished}
}

func recordsIn(queue []*queued) (ids []int64, buffers int) {
	for _, one := range queue {
		if one.element.isBuffer() {
			ids = append(ids, one.ids...)
			buffers++
		}
	}
	return ids, buffers
}

func (s *Subpartition) putInFront(barrier Element) {
	behind := append([]*queued{newQueued(barrier)}, s.queue[s.priorityCount:]...)
	s.queue = append(s.queue[:s.priorityCount:s.priorityCount], behind...)
	s.priorityCount++
	// Announced also while blocked: otherwise the barrier would wait until the consumer resumes the channel.
	if s.viewAttached && s.priorityCount == 1 {
		s.listener.PriorityAvailable(s.sequenceNumber)
	}
}

// Append writes records into the unfinished buffer that was added last.
func (s *Subpartition) Append(ids []int64) {
	last := s.queue[len(s.queue)-1]
	last.ids = append(last.ids[:len(last.ids):len(last.ids)], ids...)
}

// FinishBuffer finishes the buffer that was added last.
func (s *Subpartition) FinishBuffer() { s.queue[len(s.queue)-1].finished = true }

// Flush makes everything available that was written, also in an unfinished buffer.
func (s *Subpartition) Flush() {
	if len(s.queue) == 0 || s.flushRequested {
		return
	}
	alone := len(s.queue) == 1
	s.flushRequested = !alone || s.queue[0].isReadable()
	if alone && s.flushRequested && s.viewAttached && !s.blocked {
		s.listener.DataAvailable()
	}
}

// Finish appends the end of the partition.
func (s *Subpartition) Finish() {
	if s.finished || s.released {
		return
	}
	s.enqueue(Element{Type: "end-of-partition"})
	s.finished = true
	if s.viewAttached {
		s.listener.DataAvailable()
	}
}

// FinishRecovery ends the recovered output state; with block, the consumer resumes the producer behind it.
func (s *Subpartition) FinishRecovery(block bool) {
	if block {
		s.Add(Element{Type: "recovery-completion"})
	}
}

// ---- the consumer ----------------------------------------------------------------------------------------------------

// AttachView connects the consumer.
func (s *Subpartition) AttachView() error {
	if s.released {
		return &PortError{Kind: "state", Reason: "the subpartition is released"}
	}
	if s.viewAttached {
		return &PortError{Kind: "state", Reason: "the subpartition has a view"}
	}
	s.viewAttached = true
	return nil
}

// Poll returns the next element, or the readable part of an unfinished buffer, which stays queued; or nil.
func (s *Subpartition) Poll() *BufferAndBacklog {
	if s.isDeliveryBlocked() {
		return nil
	}
	for len(s.queue) > 0 {
		head := s.queue[0]
		if s.promised != nil && head.element.isBarrierOf(*s.promised) {
			s.keepPromise(nil) // polled in its place, the barrier stays aligned
		}
		if len(s.queue) == 1 {
			s.flushRequested = false
		}
		readable := head.isReadable()
		head.seenFinished = head.finished
		if head.finished {
			s.remove(0)
			if head.element.isBuffer() {
				s.backlog--
			}
		}
		if readable || (head.finished && !s.skipsEmptyBuffers) {
			return s.handOut(head)
		}
		if !head.finished {
			return nil
		}
	}
	s.flushRequested = false
	return nil
}

func (s *Subpartition) handOut(polled *queued) *BufferAndBacklog {
	if polled.element.blocksUpstream() {
		s.blocked = true
	}
	number := s.sequenceNumber
	s.sequenceNumber++
	return &BufferAndBacklog{polled.build(), number, s.nextType(), s.announcedBacklog()}
}

func (s *Subpartition) remove(index int) {
	if index < s.priorityCount {
		s.priorityCount--
	}
	s.queue = append(s.queue[:index:index], s.queue[index+1:]...)
}

// Available says whether something can be polled; without credit, whether an event can.
func (s *Subpartition) Available(hasCredit bool) Availability {
	available := len(s.queue) > 0 && !s.queue[0].element.isBuffer()
	if hasCredit {
		available = s.isSomethingAvailable()
	}
	return Availability{available, s.announcedBacklog()}
}

// Resume unblocks the subpartition.
func (s *Subpartition) Resume() error {
	if !s.blocked {
		return &PortError{Kind: "state", Reason: "the subpartition is not blocked"}
	}
	s.blocked = false
	return nil
}

// Only priority events leave a blocked subpartition.
func (s *Subpartition) isDeliveryBlocked() bool { return s.blocked && s.priorityCount == 0 }

func (s *Subpartition) isSomethingAvailable() bool {
	return !s.isDeliveryBlocked() && (s.flushRequested || s.finishedCount() > 0)
}

func (s *Subpartition) nextType() string {
	switch {
	case len(s.queue) == 0 || !s.isSomethingAvailable():
		return "none"
	case s.queue[0].element.hasPriority():
		return "priority"
	case s.queue[0].element.isBuffer():
		return "data"
	default:
		return "event"
	}
}

// Only the last element may be unfinished.
func (s *Subpartition) finishedCount() int {
	if len(s.queue) == 1 && s.queue[0].seenFinished {
		return 1
	}
	if len(s.queue) == 0 {
		return 0
	}
	return len(s.queue) - 1
}

func (s *Subpartition) announcedBacklog() int {
	if s.isDeliveryBlocked() || len(s.queue) == 0 {
		return 0
	}
	if s.flushRequested || s.finished || !s.queue[len(s.queue)-1].element.isBuffer() || s.backlog == 0 {
		return s.backlog
	}
	return s.backlog - 1
}

// ---- checkpoints -----------------------------------------------------------------------------------------------------

// AlignedTimeout makes the barrier of a checkpoint unaligned, if its channel state future is open.
func (s *Subpartition) AlignedTimeout(checkpoint int64) {
	if s.promised == nil || *s.promised != checkpoint {
		return
	}
	for index := s.priorityCount; index < len(s.queue); index++ {
		if s.queue[index].element.isBarrierOf(checkpoint) {
			ids, _ := recordsIn(s.queue[s.priorityCount:index])
			s.remove(index)
			s.keepPromise(ids)
			s.putInFront(Element{Type: "barrier", Checkpoint: checkpoint, Alignment: "unaligned"})
			return
		}
	}
}

// Abort fails the channel state future of a checkpoint, if it is open.
func (s *Subpartition) Abort(checkpoint int64) {
	if s.promised != nil && *s.promised == checkpoint {
		s.breakPromise()
	}
}

// Persisted returns what the channel state writer was given for a checkpoint.
func (s *Subpartition) Persisted(checkpoint int64) OutputState {
	if state, known := s.written[checkpoint]; known {
		return state
	}
	return OutputState{Status: "absent"}
}

// promise opens a channel state future, which completes when the barrier is polled or becomes unaligned.
func (s *Subpartition) promise(checkpoint int64) {
	s.breakPromise()
	s.promised = &checkpoint
	s.written[checkpoint] = OutputState{Status: "pending"}
}

func (s *Subpartition) breakPromise() {
	if s.promised != nil {
		s.written[*s.promised] = OutputState{Status: "failed"}
	}
	s.promised = nil
}

func (s *Subpartition) keepPromise(ids []int64) {
	s.write(*s.promised, ids)
	s.promised = nil
}

func (s *Subpartition) write(checkpoint int64, ids []int64) {
	s.written[checkpoint] = OutputState{Status: "written", IDs: ids}
}

// ---- release ---------------------------------------------------------------------------------------------------------

// Release gives everything back.
func (s *Subpartition) Release() {
	s.queue, s.priorityCount, s.backlog = nil, 0, 0
	s.breakPromise()
	s.viewAttached, s.released = false, true
}

// Resources counts what is held.
func (s *Subpartition) Resources() map[string]int {
	held := map[string]int{"segments": s.backlog, "heap": 0, "files": 0, "listeners": 0, "futures": 0}
	if s.viewAttached {
		held["listeners"] = 1
	}
	if s.promised != nil {
		held["futures"] = 1
	}
	return held
}
