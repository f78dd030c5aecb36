package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// warmUpTasks start every worker and leave no trace in the figures.
	warmUpTasks = 100
	// settle is how long goroutines that have announced their park get to reach it.
	settle = 200 * time.Millisecond
	// calm is the time from the last park to the start of the idle clock.
	calm = time.Second
	// longestMillis is the longest sleep; the shortest is 1 ms.
	longestMillis = 1000
)

// gate opens when a number of goroutines have arrived.
type gate struct {
	target  int64
	arrived int64
	opened  chan time.Time
}

func newGate(target int) *gate {
	return &gate{target: int64(target), opened: make(chan time.Time, 1)}
}

func (g *gate) arrive() {
	if atomic.AddInt64(&g.arrived, 1) == g.target {
		g.opened <- time.Now()
	}
}

func (g *gate) wait() time.Time { return <-g.opened }

// spawn starts and awaits empty goroutines, a batch at a time.
func spawn(load sizes) string {
	tasks, batch := load.get("tasks"), load.get("batch")
	batches := func(count int) {
		var all sync.WaitGroup
		for i := 0; i < count; i++ {
			all.Add(batch)
			for j := 0; j < batch; j++ {
				go all.Done()
			}
			all.Wait()
		}
	}
	count := tasks / batch
	batches(atLeast(1, count/10))
	watch := start()
	batches(count)
	return watch.stop().perOperation(tasks)
}

// yields has goroutines let one another run.
func yields(load sizes) string {
	fibers, each := load.get("fibers"), load.get("yields")
	turns := func(yields int) {
		var all sync.WaitGroup
		all.Add(fibers)
		for i := 0; i < fibers; i++ {
			go func() {
				for j := 0; j < yields; j++ {
					runtime.Gosched()
				}
				all.Done()
			}()
		}
		all.Wait()
	}
	turns(each / 10)
	watch := start()
	turns(each)
	return watch.stop().perOperation(fibers * each)
}

// never is what parked goroutines receive from.
var never = make(chan struct{})

// park starts goroutines that park, from two spawners.
func park(g *gate, tasks int) {
	for _, share := range []int{tasks / 2, tasks - tasks/2} {
		share := share
		go func() {
			for i := 0; i < share; i++ {
				go func() {
					g.arrive()
					<-never
				}()
			}
		}()
	}
}

// parkFew has every worker running, and the first goroutines parked.
func parkFew() {
	g := newGate(warmUpTasks)
	park(g, warmUpTasks)
	g.wait()
	time.Sleep(settle)
}

// parkedMemory is the growth of resident memory and page tables per goroutine.
func parkedMemory(load sizes) string {
	tasks := load.get("tasks")
	parkFew()
	g := newGate(tasks)
	before := memoryNow()
	watch := start()
	park(g, tasks)
	g.wait()
	took := watch.stop()
	time.Sleep(settle)
	after := memoryNow()
	n := float64(tasks)
	return fields(
		"figure", (after.resident-before.resident)/n,
		"cpu", float64(took.cpu)/n,
		"page_tables", (after.pageTables-before.pageTables)/n,
		"tasks", tasks)
}

// parkedCreate is the time per goroutine until the last has come to its park.
func parkedCreate(load sizes) string {
	tasks := load.get("tasks")
	parkFew()
	g := newGate(tasks)
	watch := start()
	park(g, tasks)
	took := watch.stopAt(g.wait())
	return took.perOperation(tasks) + " " + fields("tasks", tasks)
}

// sleepers is the time until the last of many sleeps is over, and their lateness.
func sleepers(load sizes) string {
	tasks := load.get("tasks")
	sleep(warmUpTasks)
	took, late := sleep(tasks)
	sort.Float64s(late)
	return fields(
		"figure", took.wall.Seconds(),
		"cpu", took.cpu.Seconds(),
		"p50", percentile(late, 50),
		"p99", percentile(late, 99))
}

// sleep has goroutines sleep once each; it returns each one's lateness in milliseconds.
func sleep(tasks int) (spent, []float64) {
	late := make([]float64, tasks)
	g := newGate(tasks)
	watch := start()
	go func() {
		for i := 0; i < tasks; i++ {
			i := i
			go func() {
				slept := time.Now()
				time.Sleep(nap(i))
				late[i] = (time.Since(slept) - nap(i)).Seconds() * 1e3
				g.arrive()
			}()
		}
	}()
	return watch.stopAt(g.wait()), late
}

// nap is how long a sleeper of that number sleeps: by SplitMix64, as on the Rust side.
func nap(number int) time.Duration {
	z := (uint64(number) + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return time.Duration(1+z%longestMillis) * time.Millisecond
}

// idleCPU is the CPU time of a runtime with parked goroutines and nothing to do.
func idleCPU(load sizes) string {
	parked := load.get("parked")
	g := newGate(parked)
	park(g, parked)
	g.wait()
	time.Sleep(calm)
	watch := start()
	time.Sleep(time.Duration(load.get("millis")) * time.Millisecond)
	took := watch.stop()
	millis := took.cpu.Seconds() * 1e3
	return fields("figure", millis, "cpu", millis)
}

func atLeast(least, value int) int {
	if value < least {
		return least
	}
	return value
}
