package main

import "sync"

// mutex has goroutines increment one number under one lock.
func mutex(load sizes) string {
	fibers, locks := load.get("fibers"), load.get("locks")
	return clocked(locks, fibers*locks, func(locks int) { lock(fibers, locks) })
}

func lock(fibers, locks int) {
	var (
		all    sync.WaitGroup
		mutex  sync.Mutex
		number uint64
	)
	all.Add(fibers)
	for i := 0; i < fibers; i++ {
		go func() {
			for j := 0; j < locks; j++ {
				mutex.Lock()
				number++
				mutex.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
	check(number, uint64(fibers*locks))
}
