package main

// arms is the number of channels one goroutine selects over.
const arms = 8

// pingPong has two goroutines take turns over channels without a buffer.
func pingPong(load sizes) string {
	trips := load.get("trips")
	return clocked(trips, trips, exchange)
}

func exchange(trips int) {
	ping, pong, last := make(chan uint64), make(chan uint64), make(chan uint64)
	go func() {
		for i := 0; i < trips; i++ {
			pong <- <-ping + 1
		}
	}()
	go func() {
		var number uint64
		for i := 0; i < trips; i++ {
			ping <- number
			number = <-pong
		}
		last <- number
	}()
	check(<-last, uint64(trips))
}

// channel has senders and receivers at one channel.
func channel(load sizes) string {
	senders, receivers, capacity := load.get("senders"), load.get("receivers"), load.get("capacity")
	each := load.get("each")
	return clocked(each, senders*each, func(each int) { flow(senders, receivers, capacity, each) })
}

func flow(senders, receivers, capacity, each int) {
	items, sums, ended := make(chan uint64, capacity), make(chan uint64), make(chan struct{})
	for i := 0; i < receivers; i++ {
		go func() {
			var sum uint64
			for item := range items {
				sum += item
			}
			sums <- sum
		}()
	}
	for i := 0; i < senders; i++ {
		go func() {
			send(items, each)
			ended <- struct{}{}
		}()
	}
	for i := 0; i < senders; i++ {
		<-ended
	}
	close(items)
	var sum uint64
	for i := 0; i < receivers; i++ {
		sum += <-sums
	}
	check(sum, uint64(senders)*sumBelow(each))
}

func send(items chan<- uint64, each int) {
	for i := 0; i < each; i++ {
		items <- uint64(i)
	}
}

// selectMany has one goroutine select over many channels.
func selectMany(load sizes) string {
	each, capacity := load.get("each"), load.get("capacity")
	return clocked(each, arms*each, func(each int) { fan(capacity, each) })
}

func fan(capacity, each int) {
	var channels [arms]chan uint64
	for i := range channels {
		channels[i] = make(chan uint64, capacity)
	}
	sum := make(chan uint64)
	go func() { sum <- receive(channels, arms*each) }()
	for _, items := range channels {
		go send(items, each)
	}
	check(<-sum, arms*sumBelow(each))
}

// receive takes that many items.
func receive(channels [arms]chan uint64, messages int) uint64 {
	a, b, c, d := channels[0], channels[1], channels[2], channels[3]
	e, f, g, h := channels[4], channels[5], channels[6], channels[7]
	var sum, item uint64
	for i := 0; i < messages; i++ {
		select {
		case item = <-a:
		case item = <-b:
		case item = <-c:
		case item = <-d:
		case item = <-e:
		case item = <-f:
		case item = <-g:
		case item = <-h:
		}
		sum += item
	}
	return sum
}
