package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const endLimit = 30 * time.Second

// down takes a cluster down and removes everything that it was. It is no error when there is none.
func down(name string) error {
	folder, err := stateFolder(name)
	if err != nil {
		return err
	}
	existed := exists(folder)
	lock, err := lockFolder(folder)
	if err != nil {
		return err
	}
	defer lock.release()
	if err := takeDown(folder, false); err != nil {
		return err
	}
	if existed {
		fmt.Printf("The cluster %q is down.\n", name)
	} else {
		fmt.Printf("There is no cluster %q.\n", name)
	}
	return nil
}

// takeDown removes processes, link, cgroups and folder, or the folder's content when it is about to be used again. It
// needs no record: what a cluster has outside of its folder is found by the folder's path.
func takeDown(folder string, again bool) error {
	if os.Geteuid() == 0 {
		if err := freeze(secondCgroup(cgroupOf(folder)), false); err != nil { // what is frozen cannot be killed
			return err
		}
	}
	r := loadRecord(folder)
	others := r.First.session() // an API-only cluster's components; a node's end with its first process anyway
	for _, process := range append([]Process{r.First}, others...) {
		if err := process.kill(endLimit); err != nil {
			return err
		}
	}
	if r.Keeper.PID != os.Getpid() {
		if err := r.Keeper.kill(endLimit); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if err := disconnectHost(linkOf(folder)); err != nil {
			return err
		}
		if err := removeCgroups(cgroupOf(folder), endLimit); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("the state folder cannot be removed: %w", err)
		}
	}
	if again {
		return nil
	}
	if err := os.Remove(folder); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(folder)) // if it was the last cluster
	return nil
}

// keep waits until the parent has ended, and then takes the cluster down; or until the cluster has.
func keep(name string, first, parent Process) error {
	cluster := first.opened()
	if cluster < 0 {
		return nil
	}
	defer func() { _ = unix.Close(cluster) }()
	if other := parent.opened(); other >= 0 {
		if awaitEnd(0, cluster, other) == 0 {
			return nil
		}
	}
	return down(name)
}

// lock is the right to change one cluster: a lock on its folder, so that it leaves no file behind.
type lock struct{ folder *os.File }

func (l lock) release() { _ = l.folder.Close() }

// lockFolder waits for the right to change the cluster of the folder, which it makes.
func lockFolder(folder string) (lock, error) {
	for {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return lock{}, err
		}
		opened, err := os.Open(folder)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return lock{}, err
		}
		if err := syscall.Flock(int(opened.Fd()), syscall.LOCK_EX); err != nil {
			return lock{}, err
		}
		ours, err := opened.Stat()
		if err != nil {
			return lock{}, err
		}
		if there, err := os.Stat(folder); err == nil && os.SameFile(ours, there) {
			return lock{opened}, nil
		}
		_ = opened.Close() // another one has taken it down while we waited
	}
}

// lockNetwork keeps two clusters from choosing the same addresses at the same time, whatever their state folders: a
// lock on the network namespace that both will have routes in.
func lockNetwork() (func(), error) {
	opened, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(opened.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = opened.Close() }, nil
}
