package main

// clocked is the time per operation of work that is many like operations in a row. It has run do a
// tenth of the repeats, then all of them under the clock.
func clocked(repeats, operations int, run func(repeats int)) string {
	run(repeats / 10)
	watch := start()
	run(repeats)
	return watch.stop().perOperation(operations)
}

// sumBelow is 0 + 1 + ... up to, not including, end.
func sumBelow(end int) uint64 {
	var sum uint64
	for i := 0; i < end; i++ {
		sum += uint64(i)
	}
	return sum
}

// check ends the program if a sum is not what it has to be.
func check(sum, want uint64) {
	if sum != want {
		fail("a wrong sum")
	}
}
