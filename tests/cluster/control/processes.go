package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process for good: its number, and when it began, which no later process of the same number shares.
type Process struct {
	PID   int
	Begun string
}

func processOf(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("there is no process %d", pid)
	}
	// Behind the name, which may hold anything, in brackets: the state, and as the 20th value the time of the start.
	behind := string(text[strings.LastIndexByte(string(text), ')')+1:])
	values := strings.Fields(behind)
	if len(values) < 20 || values[0] == "Z" || values[0] == "X" {
		return Process{}, fmt.Errorf("process %d has ended", pid)
	}
	return Process{PID: pid, Begun: values[19]}, nil
}

// session are the other processes of the session that the process leads.
func (p Process) session() []Process {
	if !p.alive() {
		return nil
	}
	var members []Process
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == p.PID {
			continue
		}
		if leader, err := unix.Getsid(pid); err != nil || leader != p.PID {
			continue
		}
		if member, err := processOf(pid); err == nil {
			members = append(members, member)
		}
	}
	return members
}

func (p Process) alive() bool {
	now, err := processOf(p.PID)
	return err == nil && now == p
}

// opened is a handle by which the process can be killed and awaited and no other, or -1 when it has ended.
func (p Process) opened() int {
	if p.PID == 0 {
		return -1
	}
	handle, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return -1
	}
	if !p.alive() {
		_ = unix.Close(handle)
		return -1
	}
	return handle
}

// kill ends the process and returns when it is gone.
func (p Process) kill(limit time.Duration) error {
	handle := p.opened()
	if handle < 0 {
		return nil
	}
	defer func() { _ = unix.Close(handle) }()
	if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("process %d cannot be killed: %w", p.PID, err)
	}
	if awaitEnd(limit, handle) < 0 {
		return fmt.Errorf("process %d was killed but has not ended within %s", p.PID, limit)
	}
	return nil
}

// awaitEnd waits until one of the processes has ended, and says which; -1 when the limit comes first. No limit is 0.
func awaitEnd(limit time.Duration, handles ...int) int {
	timeout := -1
	if limit > 0 {
		timeout = int(limit.Milliseconds())
	}
	var polled []unix.PollFd
	for _, handle := range handles {
		polled = append(polled, unix.PollFd{Fd: int32(handle), Events: unix.POLLIN})
	}
	for {
		count, err := unix.Poll(polled, timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil || count == 0 {
			return -1
		}
		for i := range polled {
			if polled[i].Revents != 0 {
				return i
			}
		}
	}
}

// record is what a running cluster consists of on the host; it lies in the state folder.
type record struct {
	First  Process // the first process of the node's namespaces, or the supervisor of an API-only cluster
	Keeper Process // takes the cluster down when its parent has ended; none without a parent
}

func (r record) save(folder string) error {
	return writeJSON(filepath.Join(folder, "record.json"), r)
}

func loadRecord(folder string) record {
	var r record
	_ = readJSON(filepath.Join(folder, "record.json"), &r) // none, or a half one: nothing is known to run
	return r
}
