package main

// children of a node.
const children = 10

// skynet is the time to sum a tree of goroutines in milliseconds; a smaller tree goes before.
func skynet(load sizes) string {
	leaves := load.get("leaves")
	tree(leaves / children)
	watch := start()
	tree(leaves)
	took := watch.stop()
	return fields("figure", took.wall.Seconds()*1e3, "cpu", took.cpu.Seconds()*1e3)
}

func tree(leaves int) {
	sum := make(chan uint64, 1)
	go node(sum, 0, leaves)
	check(<-sum, sumBelow(leaves))
}

// node hands the sum of the leaves from first up.
func node(up chan<- uint64, first uint64, leaves int) {
	if leaves == 1 {
		up <- first
		return
	}
	// With room for all of them, so that no child waits for its parent.
	sums, share := make(chan uint64, children), leaves/children
	for i := 0; i < children; i++ {
		go node(sums, first+uint64(i*share), share)
	}
	var sum uint64
	for i := 0; i < children; i++ {
		sum += <-sums
	}
	up <- sum
}
