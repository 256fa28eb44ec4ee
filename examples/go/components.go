package main

import "encoding/json"

// About is what this program says of itself in its greeting.
var About = Hello{
	Name:    "go-example",
	Version: "1.0",
	Capabilities: []string{
		"blocked-priority-local",
		"blocked-priority-remote",
		"timeoutable-barriers",
		"output-recovered-upstream",
		"persisted-readback",
		"resources",
	},
}

// Components has for each component how to make a fresh object. The object's operations are named as in the protocol.
var Components = map[string]Factory{"subpartition": openSubpartition}

// signals gives the notifications of a subpartition to the suite.
type signals struct{ emit func(signal any) }

func (s signals) DataAvailable() {
	s.emit(map[string]any{"type": "data-available"})
}

func (s signals) PriorityAvailable(sequenceNumber int64) {
	s.emit(map[string]any{"type": "priority-available", "seq": sequenceNumber})
}

func openSubpartition(config json.RawMessage, emit func(signal any)) (Operations, error) {
	told := struct {
		ExclusiveBuffers int64 `json:"exclusive_buffers"`
	}{ExclusiveBuffers: 2}
	if err := decode(config, &told); err != nil {
		return nil, err
	}
	s := NewSubpartition(told.ExclusiveBuffers, signals{emit})
	return Operations{
		"add":             op1(func(e Element) (any, error) { return s.Add(e), nil }),
		"append":          op1(func(ids []int64) (any, error) { s.Append(ids); return nil, nil }),
		"finish_buffer":   op0(func() (any, error) { s.FinishBuffer(); return nil, nil }),
		"flush":           op0(func() (any, error) { s.Flush(); return nil, nil }),
		"finish":          op0(func() (any, error) { s.Finish(); return nil, nil }),
		"attach_view":     op0(func() (any, error) { return nil, s.AttachView() }),
		"poll":            op0(func() (any, error) { return optional(s.Poll()), nil }),
		"available":       op1(func(hasCredit bool) (any, error) { return s.Available(hasCredit), nil }),
		"resume":          op0(func() (any, error) { return nil, s.Resume() }),
		"aligned_timeout": op1(func(checkpoint int64) (any, error) { s.AlignedTimeout(checkpoint); return nil, nil }),
		"abort":           op2(func(checkpoint int64, _ string) (any, error) { s.Abort(checkpoint); return nil, nil }),
		"recover":         op1(func(e Element) (any, error) { s.Add(e); return nil, nil }),
		"finish_recovery": op1(func(block bool) (any, error) { s.FinishRecovery(block); return nil, nil }),
		"persisted":       op1(func(checkpoint int64) (any, error) { return s.Persisted(checkpoint), nil }),
		"resources":       op0(func() (any, error) { return s.Resources(), nil }),
		"release":         op0(func() (any, error) { s.Release(); return nil, nil }),
	}, nil
}
