// An adapter in Go: a subpartition behind the JSON Lines protocol, with the standard library only.
//
// subpartition.go is a small engine, components.go lists its operations, and protocol.go speaks the protocol. Keep
// protocol.go, and put your own engine behind components.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
