package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// A component that is asked to stop is killed after this time; the API server and etcd would wait much longer for
	// clients that watch.
	stopLimit    = 5 * time.Second
	startLimit   = 90 * time.Second // for a component to answer that it is well
	longBackoff  = 10 * time.Second
	shortBackoff = 250 * time.Millisecond
	stableAfter  = 30 * time.Second // a component that lived that long is restarted at once when it dies
	hopeless     = 4                // deaths in a row, before it was ever well, after which we give up
)

// component is a process that is kept running until it is stopped on purpose.
type component struct {
	name      string
	path      string
	arguments []string
	env       []string
	log       *logFile
	check     func(context.Context) error

	mu       sync.Mutex
	wanted   bool
	process  *exec.Cmd
	ended    chan struct{} // closed when the keeping of this process has ended
	restarts int
	deaths   int // in a row, without having been well between
	lastEnd  string
}

// componentStatus is what `status` shows of a component.
type componentStatus struct {
	Name     string
	Running  bool
	Wanted   bool
	PID      int
	Restarts int
	LastEnd  string
}

func (c *component) status() componentStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := componentStatus{Name: c.name, Wanted: c.wanted, Restarts: c.restarts, LastEnd: c.lastEnd}
	if c.process != nil {
		s.Running, s.PID = true, c.process.Process.Pid
	}
	return s
}

// launch begins to keep the component running, if it is not kept already.
func (c *component) launch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted {
		return
	}
	c.wanted, c.deaths, c.ended = true, 0, make(chan struct{})
	go c.keep(c.ended)
}

func (c *component) keep(ended chan struct{}) {
	defer close(ended)
	backoff := shortBackoff
	for {
		begun := time.Now()
		command, err := c.spawn()
		if err == nil && command == nil {
			return
		}
		if err == nil {
			err = command.Wait()
		}
		if !c.died(err) {
			return
		}
		if time.Since(begun) > stableAfter {
			backoff = shortBackoff
		}
		time.Sleep(backoff)
		backoff = min(2*backoff, longBackoff)
	}
}

// spawn starts the process, or nothing when it is no longer wanted.
func (c *component) spawn() (*exec.Cmd, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wanted {
		return nil, nil
	}
	command := exec.Command(c.path, c.arguments...)
	command.Env, command.Dir = c.env, "/"
	// A pipe of our own, and not the command's: what containerd starts holds its output open after its end.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr = writer, writer
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = startOnSteadyThread(command)
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return nil, err
	}
	go func() {
		_, _ = io.Copy(c.log, reader)
		_ = reader.Close()
	}()
	c.process = command
	c.log.note("%s started as process %d", c.name, command.Process.Pid)
	return command, nil
}

// died notes an end, and says whether the component is to be started again.
func (c *component) died(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := "ended without an error"
	if err != nil {
		end = err.Error()
	}
	c.process, c.lastEnd = nil, end
	c.log.note("%s has ended: %s", c.name, end)
	if c.wanted {
		c.restarts++
		c.deaths++
	}
	return c.wanted
}

// stop ends the component for good: politely, or with kill at once.
func (c *component) stop(kill bool) {
	c.mu.Lock()
	ended := c.ended
	c.wanted = false
	if c.process != nil {
		how := syscall.SIGTERM
		if kill {
			how = syscall.SIGKILL
		}
		_ = c.process.Process.Signal(how)
	}
	c.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(stopLimit):
		c.mu.Lock()
		if c.process != nil {
			_ = c.process.Process.Kill()
		}
		c.mu.Unlock()
		<-ended
	}
}

// await returns when the component says that it is well.
func (c *component) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := c.check(ctx)
		if err == nil {
			c.mu.Lock()
			c.deaths = 0
			c.mu.Unlock()
			return nil
		}
		c.mu.Lock()
		deaths, end := c.deaths, c.lastEnd
		c.mu.Unlock()
		if deaths >= hopeless {
			return &failure{c.name, fmt.Sprintf("%s has died %d times in a row: %s", c.name, deaths, end)}
		}
		select {
		case <-ctx.Done():
			return &failure{c.name, fmt.Sprintf("%s is not well in time: %v", c.name, err)}
		case <-time.After(50 * time.Millisecond):
		}
	}
}
