package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// clockProcessCPUTime is Linux's CLOCK_PROCESS_CPUTIME_ID.
const clockProcessCPUTime = 2

// cpuTime is user and system time of all threads so far.
func cpuTime() time.Duration {
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(
		syscall.SYS_CLOCK_GETTIME, clockProcessCPUTime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		fail("clock_gettime: " + errno.Error())
	}
	return time.Duration(ts.Nano())
}

// stopwatch counts wall and CPU time since a moment.
type stopwatch struct {
	wall time.Time
	cpu  time.Duration
}

// spent is what a stopwatch has counted.
type spent struct{ wall, cpu time.Duration }

func start() stopwatch {
	cpu := cpuTime()
	return stopwatch{time.Now(), cpu}
}

func (w stopwatch) stop() spent { return w.stopAt(time.Now()) }

// stopAt takes the wall time when the work was done, not when that was noticed.
func (w stopwatch) stopAt(end time.Time) spent {
	return spent{end.Sub(w.wall), cpuTime() - w.cpu}
}

// perOperation has the fields of a sample in nanoseconds per operation.
func (s spent) perOperation(operations int) string {
	n := float64(operations)
	return fields("figure", float64(s.wall)/n, "cpu", float64(s.cpu)/n)
}

// memory is what the process holds, in bytes.
type memory struct{ resident, pageTables float64 }

func memoryNow() memory {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err.Error())
	}
	return memory{statusBytes(string(status), "VmRSS:"), statusBytes(string(status), "VmPTE:")}
}

func statusBytes(status, field string) float64 {
	for _, line := range strings.Split(status, "\n") {
		if !strings.HasPrefix(line, field) {
			continue
		}
		kibibytes, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
		if err != nil {
			fail("/proc/self/status: " + line)
		}
		return kibibytes * 1024
	}
	fail("/proc/self/status has no " + field)
	return 0
}

// fields writes key=value pairs; keys and values alternate.
func fields(pairs ...any) string {
	var words []string
	for i := 0; i < len(pairs); i += 2 {
		words = append(words, fmt.Sprintf("%s=%v", pairs[i], pairs[i+1]))
	}
	return strings.Join(words, " ")
}

// percentile is the nearest rank in sorted figures.
func percentile(sorted []float64, percent int) float64 {
	rank := (percent*len(sorted) + 99) / 100
	if rank < 1 {
		rank = 1
	}
	return sorted[rank-1]
}
