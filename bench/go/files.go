package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// fileReads has goroutines each read a file of its own.
func fileReads(load sizes) string {
	files, size, repeats := load.get("files"), load.get("bytes"), load.get("repeats")
	directory, err := os.MkdirTemp("", "sisal-bench-")
	if err != nil {
		fail(err.Error())
	}
	defer os.RemoveAll(directory)
	paths := make([]string, files)
	content := bytes.Repeat([]byte{'s'}, size)
	for i := range paths {
		paths[i] = filepath.Join(directory, fmt.Sprint(i, ".txt"))
		if err := os.WriteFile(paths[i], content, 0o600); err != nil {
			fail(err.Error())
		}
	}
	return clocked(repeats, files*repeats, func(repeats int) {
		for i := 0; i < repeats; i++ {
			readAll(paths, size)
		}
	})
}

func readAll(paths []string, size int) {
	var all sync.WaitGroup
	all.Add(len(paths))
	for _, path := range paths {
		path := path
		go func() {
			content, err := os.ReadFile(path)
			if err != nil {
				fail(err.Error())
			}
			check(uint64(len(content)), uint64(size))
			all.Done()
		}()
	}
	all.Wait()
}
