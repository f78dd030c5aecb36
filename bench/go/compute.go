package main

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tick is how long the ticker sleeps.
	tick = time.Millisecond
	// learning is the number of rounds that do not count.
	learning = 1
	// over is the number of rounds when all are over.
	over = int64(1) << 62
)

// spin is CPU-bound work; rounds of it are about a millisecond.
func spin(rounds int) {
	number := uint64(1)
	for i := 0; i < rounds; i++ {
		number ^= number << 13
		number ^= number >> 7
		number ^= number << 17
	}
	atomic.StoreUint64(&sink, number)
}

// starve is the lateness of a goroutine that ticks while others compute, from the second round on.
func starve(load sizes) string {
	var (
		round int64
		late  []float64
		ended = make(chan struct{})
	)
	go func() {
		for {
			begun := atomic.LoadInt64(&round)
			if begun == over {
				close(ended)
				return
			}
			slept := time.Now()
			time.Sleep(tick)
			if begun > learning {
				// Those that were missed meanwhile count too.
				for by := time.Since(slept) - tick; by >= 0; by -= tick {
					late = append(late, by.Seconds()*1e3)
				}
			}
		}
	}()
	hogs, each, repeats := load.get("hogs"), load.get("each"), load.get("rounds")
	watch := start()
	for i := 0; i < repeats; i++ {
		atomic.AddInt64(&round, 1)
		var all sync.WaitGroup
		all.Add(hogs)
		for j := 0; j < hogs; j++ {
			go func() {
				spin(each * rounds)
				all.Done()
			}()
		}
		all.Wait()
	}
	took := watch.stop()
	atomic.StoreInt64(&round, over)
	<-ended
	if len(late) == 0 {
		fail("the ticker has not ticked")
	}
	sort.Float64s(late)
	n := float64(repeats)
	return fields(
		"figure", percentile(late, 99),
		"cpu", took.cpu.Seconds()*1e3/n,
		"p50", percentile(late, 50),
		"max", percentile(late, 100),
		"ticks", len(late),
		"round", took.wall.Seconds()*1e3/n)
}

// idleBurst is the CPU time after many short goroutines. The last of them starts the clock.
func idleBurst(load sizes) string {
	tasks := load.get("tasks")
	burst(warmUpTasks)
	after := burst(tasks)
	time.Sleep(time.Duration(load.get("millis")) * time.Millisecond)
	millis := after.stop().cpu.Seconds() * 1e3
	return fields("figure", millis, "cpu", millis)
}

// burst starts the goroutines and returns the clock.
func burst(tasks int) stopwatch {
	left, after := int64(tasks), make(chan stopwatch, 1)
	go func() {
		for i := 0; i < tasks; i++ {
			go func() {
				spin(rounds / 100)
				if atomic.AddInt64(&left, -1) == 0 {
					after <- start()
				}
			}()
		}
	}()
	return <-after
}
