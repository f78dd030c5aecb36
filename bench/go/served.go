package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

const (
	// buffer is what a connection of an echo server reads at a time, at most.
	buffer = 1024
	// rounds of a piece of CPU-bound work: about a millisecond.
	rounds = 500000
	// hello is the body of every answer to a request by HTTP.
	hello = "Hello, World!"
)

// pieces of CPU-bound work that are done.
var pieces int64

// sink keeps the work from being optimised away.
var sink uint64

// echoServer serves echo until standard input ends, beside CPU-bound jobs if there are any.
func echoServer(load sizes) string {
	listener := listen()
	for i := 0; i < load.get("jobs"); i++ {
		go func() {
			for {
				piece()
			}
		}()
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				fail(err.Error())
			}
			go echo(conn)
		}
	}()
	return answer(listener)
}

func echo(conn net.Conn) {
	defer conn.Close()
	bytes := make([]byte, buffer)
	for {
		count, err := conn.Read(bytes)
		if err != nil {
			return
		}
		if _, err := conn.Write(bytes[:count]); err != nil {
			return
		}
	}
}

// httpServer serves a short text.
func httpServer(load sizes) string {
	listener := listen()
	handler := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hello) }
	go http.Serve(listener, http.HandlerFunc(handler))
	return answer(listener)
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err.Error())
	}
	return listener
}

// answer says where the server listens, and what it has spent whenever that is asked, until it is told to
// end. It does not return.
func answer(listener net.Listener) string {
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	for questions := bufio.NewScanner(os.Stdin); questions.Scan(); {
		fmt.Printf("spent cpu=%d pieces=%d\n", cpuTime().Nanoseconds(), atomic.LoadInt64(&pieces))
	}
	os.Exit(0)
	return ""
}

// piece is a piece of CPU-bound work, counted when it is done.
func piece() {
	spin(rounds)
	atomic.AddInt64(&pieces, 1)
}
