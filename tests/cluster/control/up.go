package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// upOptions are what `up` may be told.
type upOptions struct {
	apiOnly bool
	nodes   int
	parent  int // take the cluster down when this process ends; 0 for never
}

// up brings the cluster up and returns when it is ready, or takes it down again.
func up(ctx context.Context, name string, options upOptions) error {
	folder, err := stateFolder(name)
	if err != nil {
		return err
	}
	var parent Process
	if options.parent != 0 {
		if parent, err = processOf(options.parent); err != nil {
			return err
		}
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return err
	}
	defer lock.release()
	if loadRecord(folder).First.alive() {
		return alreadyUp(ctx, name, folder, options)
	}
	if err := takeDown(folder, true); err != nil { // what a crash has left
		return err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	err = launch(name, folder, options, parent)
	if err == nil {
		err = awaitReady(ctx, folder)
	}
	if err == nil && options.nodes == 2 {
		err = order(ctx, folder, "POST", "/second/join", nil)
	}
	if err != nil {
		report := explain(folder, err)
		if left := takeDown(folder, false); left != nil {
			report = errors.Join(report, left)
		}
		return report
	}
	fmt.Printf("Ready in %.1f s.\n", time.Since(begun).Seconds())
	fmt.Printf("export KUBECONFIG=%s\n", filepath.Join(folder, "kubeconfig"))
	return nil
}

func alreadyUp(ctx context.Context, name, folder string, options upOptions) error {
	plan, err := loadPlan(folder)
	if err != nil {
		return err
	}
	if plan.APIOnly != options.apiOnly {
		return fmt.Errorf("the cluster %q is up already, but is of the other kind (with a node, or --api-only): "+
			"take it down first, or choose another --name", name)
	}
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	if err := awaitReady(ctx, folder); err != nil {
		return explain(folder, err)
	}
	if options.nodes == 2 {
		if err := order(ctx, folder, "POST", "/second/join", nil); err != nil {
			return explain(folder, err)
		}
	}
	fmt.Printf("The cluster %q is up already.\n", name)
	fmt.Printf("export KUBECONFIG=%s\n", filepath.Join(folder, "kubeconfig"))
	return nil
}

// awaitReady waits for the supervisor to say that the cluster is ready.
func awaitReady(ctx context.Context, folder string) error {
	handle := loadRecord(folder).First.opened()
	if handle < 0 {
		return &failure{"supervisor", "the cluster's first process has ended"}
	}
	defer func() { _ = unix.Close(handle) }()
	for !exists(filepath.Join(folder, "control.sock")) {
		if awaitEnd(20*time.Millisecond, handle) == 0 {
			return &failure{"supervisor", "the cluster's first process has ended"}
		}
		if ctx.Err() != nil {
			return &failure{"supervisor", "the supervisor does not take orders in time"}
		}
	}
	err := order(ctx, folder, "GET", "/ready", nil)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return errors.New("interrupted before the cluster was ready")
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("the cluster is not ready within %s: %w", upLimit, err)
	}
	return err
}

// explain adds the end of the culprit's log to a failure.
func explain(folder string, err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	return fmt.Errorf("%w\nThe end of the log of %s:\n%s", err, f.Component,
		tail(filepath.Join(folder, "logs", f.Component+".log"), 25))
}
