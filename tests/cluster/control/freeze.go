package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// freeze makes all processes of a cgroup stand still, or go on. It is nothing where there is no such group.
func freeze(cgroup string, frozen bool) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		for file, words := range map[string][2]string{"freezer.state": {"THAWED", "FROZEN"}, "cgroup.freeze": {"0", "1"}} {
			path := filepath.Join(root, cgroup, file)
			if !exists(path) {
				continue
			}
			word := words[0]
			if frozen {
				word = words[1]
			}
			if err := os.WriteFile(path, []byte(word), 0o600); err != nil {
				return fmt.Errorf("the cgroup %s cannot be made %s: %w", cgroup, word, err)
			}
		}
	}
	return nil
}

// orderOfSecond makes the command that sends the supervisor an order about the second node.
func orderOfSecond(verb string) func(context.Context, string, []string) error {
	return func(ctx context.Context, name string, _ []string) error {
		folder, err := runningNode(name)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, upLimit)
		defer cancel()
		return explain(folder, order(ctx, folder, "POST", "/second/"+verb, nil))
	}
}

// runFreeze makes the command that lets the second node stand still, or go on.
func runFreeze(frozen bool) func(context.Context, string, []string) error {
	return func(_ context.Context, name string, _ []string) error {
		folder, err := runningNode(name)
		if err != nil {
			return err
		}
		if loadSecond(folder) == 0 {
			return errors.New("there is no second node: `join` brings one")
		}
		return freeze(secondCgroup(cgroupOf(folder)), frozen)
	}
}
