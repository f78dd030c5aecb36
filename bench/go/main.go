// Go's part in sisal-bench: one kind of work, once, and one line about it on standard output.
//
//	sisal-bench-go KIND key=value...
//
// Kinds, sizes and the line are those of the Rust side (src/work, src/sample.rs), and so is what is
// clocked. GOMAXPROCS is the number of workers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// An exit code for arguments that make no sense.
const usageError = 2

// noForks is why it has no part in work that is divided until no worker asks for more.
const noForks = "its library has no forks, loops or sorts on several workers"

// kinds has a function for every kind of work Go can do. Each returns the line's fields.
var kinds = map[string]func(sizes) string{
	"spawn":         spawn,
	"yields":        yields,
	"parked-memory": parkedMemory,
	"parked-create": parkedCreate,
	"sleepers":      sleepers,
	"idle-cpu":      idleCPU,
	"ping-pong":     pingPong,
	"channel":       channel,
	"select":        selectMany,
	"mutex":         mutex,
	"skynet":        skynet,
	"echo":          echoServer,
	"http":          httpServer,
	"file-reads":    fileReads,
	"starve":        starve,
	"idle-burst":    idleBurst,
	// Its jobs are given like the other sizes.
	"echo-under-cpu": echoServer,
	// Go has no closer thing to a nursery than the group its goroutines are awaited with anyway.
	"nursery": spawn,
}

// absences has the reason for every kind it cannot do.
var absences = map[string]string{
	"wake-idle":       "goroutines are started by goroutines: there is no thread outside its runtime",
	"ping-pong-cross": "a goroutine cannot be held to one of its workers",
	"select-one":      "it is sisal beside itself",
	"http-hyper":      "hyper is no library of Go",
	"trickle":         "goroutines are started by goroutines: there is no thread outside its runtime",
	"tree":            noForks,
	"fib":             noForks,
	"sum":             noForks,
	"sort":            noForks,
	"mixed":           "the work itself would be another compiler's",
}

// sizes are the numbers that came with the kind.
type sizes map[string]int

func main() {
	if len(os.Args) < 2 {
		fail("KIND key=value... expected")
	}
	kind := os.Args[1]
	if reason, ok := absences[kind]; ok {
		fmt.Println("absent", reason)
		return
	}
	run, ok := kinds[kind]
	if !ok {
		fmt.Println("absent its program knows no work of the kind", kind)
		return
	}
	load := parse(os.Args[2:])
	runtime.GOMAXPROCS(load.get("workers"))
	fmt.Println("sample", run(load))
}

func parse(pairs []string) sizes {
	load := sizes{}
	for _, pair := range pairs {
		key, text, _ := strings.Cut(pair, "=")
		value, err := strconv.Atoi(text)
		if err != nil {
			fail("no number in " + pair)
		}
		load[key] = value
	}
	return load
}

func (load sizes) get(key string) int {
	value, ok := load[key]
	if !ok {
		fail("no " + key + " given")
	}
	return value
}

func fail(reason string) {
	fmt.Fprintln(os.Stderr, "sisal-bench-go:", reason)
	os.Exit(usageError)
}
