package main

import (
	"os/exec"
	"runtime"
)

// failure names the component whose log tells more.
type failure struct {
	Component string
	Message   string
}

func (f *failure) Error() string { return f.Message }

var spawning = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for work := range spawning {
			work()
		}
	}()
}

// startOnSteadyThread starts a process from a thread that lives as long as we do: the kernel sends Pdeathsig when the
// thread that started the process ends, and Go ends threads as it likes.
func startOnSteadyThread(command *exec.Cmd) error {
	result := make(chan error)
	spawning <- func() { result <- command.Start() }
	return <-result
}
