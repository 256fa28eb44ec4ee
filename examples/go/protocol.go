package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sort"
)

const protocol = 4

// Hello is the greeting, except what follows from Components.
type Hello struct {
	Type         string   `json:"type"`
	Protocol     int      `json:"protocol"`
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Capabilities []string `json:"capabilities"`
	Components   []string `json:"components"`
}

// Factory makes a fresh object from its configuration. The object calls emit for each signal, in their order.
type Factory func(config json.RawMessage, emit func(signal any)) (Operations, error)

// Operations are what one object can do, by the names of the protocol.
type Operations map[string]Operation

// Operation performs one call. Every value that it returns is encoded later, so nothing may change it meanwhile.
type Operation func(operands []json.RawMessage) (any, error)

// PortError is an error that the port asks for. The suite counts any other failure of an operation as a crash.
type PortError struct {
	Kind             string `json:"kind"`
	Reason           string `json:"reason"`
	CheckpointReason string `json:"checkpoint_reason,omitempty"`
}

func (e *PortError) Error() string { return e.Reason }

// Outcome is what became of one call. Fields that are left out have their defaults.
type Outcome struct {
	Value   any        `json:"value,omitempty"`
	Signals []any      `json:"signals,omitempty"`
	Error   *PortError `json:"error,omitempty"`
}

// request has the fields of all requests.
type request struct {
	Type      string              `json:"type"`
	Protocol  int                 `json:"protocol"`
	Component string              `json:"component"`
	Config    json.RawMessage     `json:"config"`
	Call      []json.RawMessage   `json:"call"`
	Calls     [][]json.RawMessage `json:"calls"`
}

// server has the object that is open, if any.
type server struct {
	operations Operations
	signals    []any
}

// Serve sends one answer for each line, until a request closes it or the requests end.
func Serve(requests io.Reader, answers io.Writer) error {
	lines := bufio.NewReader(requests) // not a Scanner, which refuses long lines
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	var s server
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			answer, closed := s.answer(line)
			if err := encoder.Encode(answer); err != nil || closed {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer returns the answer to a request, and whether it was the last one.
func (s *server) answer(line []byte) (answer any, closed bool) {
	var asked request
	err := json.Unmarshal(line, &asked)
	if err == nil {
		switch asked.Type {
		case "hello":
			answer, err = greet(asked.Protocol)
		case "open":
			err = s.open(asked.Component, asked.Config)
			answer = map[string]string{"type": "opened"}
		case "call":
			var outcome Outcome
			outcome, err = s.call(asked.Call)
			answer = map[string]any{"type": "outcome", "outcome": outcome}
		case "scenario":
			var outcomes []Outcome
			outcomes, err = s.scenario(asked)
			answer = map[string]any{"type": "outcomes", "outcomes": outcomes}
		case "close":
			return map[string]string{"type": "closed"}, true
		default: // also resume, since no operation here waits
			err = fmt.Errorf("there is no request %s here", asked.Type)
		}
	}
	if err != nil {
		answer = map[string]string{"type": "error", "reason": err.Error()}
	}
	return answer, false
}

func greet(theirs int) (Hello, error) {
	if theirs != protocol {
		return Hello{}, fmt.Errorf("this program speaks protocol %d, not %d", protocol, theirs)
	}
	hello := About
	hello.Type, hello.Protocol = "hello", protocol
	for name := range Components {
		hello.Components = append(hello.Components, name)
	}
	sort.Strings(hello.Components)
	return hello, nil
}

func (s *server) open(component string, config json.RawMessage) error {
	factory, known := Components[component]
	if !known {
		return fmt.Errorf("there is no component %s", component)
	}
	s.operations, s.signals = nil, nil
	operations, err := factory(config, func(signal any) { s.signals = append(s.signals, signal) })
	s.operations = operations
	return err
}

func (s *server) scenario(asked request) ([]Outcome, error) {
	s.operations = nil
	outcomes := make([]Outcome, 0, len(asked.Calls))
	for _, call := range asked.Calls {
		var outcome Outcome
		var err error
		if len(call) > 0 && string(call[0]) == `"new"` {
			config := asked.Config
			if len(call) > 1 {
				config = call[1]
			}
			err = s.open(asked.Component, config) // a fresh object, also where a scenario restores
		} else {
			outcome, err = s.call(call)
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

func (s *server) call(call []json.RawMessage) (outcome Outcome, refused error) {
	if s.operations == nil {
		return Outcome{}, errors.New("no object is open")
	}
	var name string
	if len(call) == 0 || json.Unmarshal(call[0], &name) != nil {
		return Outcome{}, errors.New("a call begins with the name of a method")
	}
	operation, known := s.operations[name]
	if !known {
		return Outcome{}, fmt.Errorf("there is no method %s", name)
	}
	defer func() {
		if cause := recover(); cause != nil {
			outcome.Value = nil
			outcome.Error = &PortError{Kind: "crashed", Reason: fmt.Sprintf("%v\n%s", cause, debug.Stack())}
		}
		outcome.Signals, s.signals = s.signals, nil
	}()
	value, err := operation(call[1:])
	if errors.As(err, &outcome.Error) {
		return outcome, nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", name, err)
	}
	outcome.Value = value
	return outcome, nil
}

// decode refuses fields that are not known: a setting that this program does not have must not be ignored.
func decode(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func count(operands []json.RawMessage, expected int) error {
	if len(operands) != expected {
		return fmt.Errorf("it has %d operands, not %d", expected, len(operands))
	}
	return nil
}

func op0(perform func() (any, error)) Operation {
	return func(operands []json.RawMessage) (any, error) {
		if err := count(operands, 0); err != nil {
			return nil, err
		}
		return perform()
	}
}

func op1[A any](perform func(A) (any, error)) Operation {
	return func(operands []json.RawMessage) (any, error) {
		if err := count(operands, 1); err != nil {
			return nil, err
		}
		var first A
		if err := json.Unmarshal(operands[0], &first); err != nil {
			return nil, err
		}
		return perform(first)
	}
}

func op2[A, B any](perform func(A, B) (any, error)) Operation {
	return func(operands []json.RawMessage) (any, error) {
		if err := count(operands, 2); err != nil {
			return nil, err
		}
		var second B
		if err := json.Unmarshal(operands[1], &second); err != nil {
			return nil, err
		}
		return op1(func(first A) (any, error) { return perform(first, second) })(operands[:1])
	}
}

// optional turns a nil pointer into no value. As an `any`, it would be a value that is not nil.
func optional[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}
