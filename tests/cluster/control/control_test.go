package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestABlockThatOverlapsARouteIsTaken(t *testing.T) {
	taken := []netip.Prefix{netip.MustParsePrefix("10.200.7.0/24"), netip.MustParsePrefix("172.16.0.0/12")}
	for text, clashes := range map[string]bool{
		"10.200.0.0/16": true, "10.201.0.0/16": false, "172.31.0.0/16": true, "198.18.0.0/16": false,
	} {
		if overlapsAny(netip.MustParsePrefix(text), taken) != clashes {
			t.Errorf("%s: clashes should be %v", text, clashes)
		}
	}
}

func TestACandidateHoldsPodsServicesAndLinkWithoutOverlap(t *testing.T) {
	for _, prefix := range candidates() {
		network := block(prefix)
		whole := netip.MustParsePrefix(network.Block)
		pods, services := netip.MustParsePrefix(network.Pods), netip.MustParsePrefix(network.Services)
		if pods.Overlaps(services) || !whole.Overlaps(pods) || !whole.Overlaps(services) {
			t.Errorf("%+v", network)
		}
		first, second := netip.MustParsePrefix(network.First), netip.MustParsePrefix(network.Second.Pods)
		if first.Overlaps(second) || !pods.Contains(first.Addr()) || !pods.Contains(second.Addr()) {
			t.Errorf("%+v", network)
		}
		for _, address := range []string{network.API, network.DNS} {
			if !services.Contains(netip.MustParseAddr(address)) {
				t.Errorf("%s is not in %s", address, services)
			}
		}
	}
}

func TestNamesThatCannotNameAClusterAreRefused(t *testing.T) {
	for name, good := range map[string]bool{
		"own": true, "a": true, "test-12": true, "": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false,
		strings.Repeat("a", 41): false,
	} {
		if (checkName(name) == nil) != good {
			t.Errorf("%q: good should be %v", name, good)
		}
	}
}

func TestALogNeverGrowsBeyondItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "a.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * logLimit / (1 << 20) {
		if _, err := log.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{path, path + ".1"} {
		if info, err := os.Stat(file); err != nil || info.Size() > logLimit {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestAProcessIsNotMistakenForAnotherOfTheSameNumber(t *testing.T) {
	ours, err := processOf(os.Getpid())
	if err != nil || !ours.alive() {
		t.Fatalf("%+v, %v", ours, err)
	}
	other := Process{PID: ours.PID, Begun: "1"}
	if other.alive() {
		t.Error("a process that began at another time is alive")
	}
	if err := other.kill(time.Second); err != nil { // it would end this test
		t.Error(err)
	}
}

func TestFreePortsAreDifferent(t *testing.T) {
	ports, err := freePorts(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("%d twice", port)
		}
		seen[port] = true
	}
}
