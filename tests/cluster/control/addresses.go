package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
)

// Network is a cluster's addresses, all in one block of 65,536 that nobody on the machine has a route into.
type Network struct {
	Block    string // for pods, services and the link
	Pods     string // of both nodes
	Services string
	Host     string // the host's end of the link: what pods call the host
	Node     string // the node's end
	First    string // for pods of the node
	Second   SecondNetwork
	API      string // the service `kubernetes`
	DNS      string // the service `kube-dns`
}

// SecondNetwork is where a second node stands, behind the first.
type SecondNetwork struct {
	Pods string
	Via  string // the first node's end of the link between the two
	Node string // the second node's
}

// block lays a cluster's addresses out in prefix.0.0/16.
func block(prefix string) Network {
	return Network{
		Block:    prefix + ".0.0/16",
		Pods:     prefix + ".0.0/22",
		Services: prefix + ".128.0/20",
		Host:     prefix + ".255.1",
		Node:     prefix + ".255.2",
		First:    prefix + ".0.0/23",
		Second:   SecondNetwork{Pods: prefix + ".2.0/23", Via: prefix + ".255.5", Node: prefix + ".255.6"},
		API:      prefix + ".128.1",
		DNS:      prefix + ".128.10",
	}
}

// loopback is the network of an API-only cluster: its services have addresses that lead nowhere.
func loopback() Network {
	return Network{Node: "127.0.0.1", Services: "198.18.0.0/20", API: "198.18.0.1"}
}

// candidates are blocks of private addresses, those that are seldom used first.
func candidates() []string {
	var prefixes []string
	for second := 200; second < 255; second++ {
		prefixes = append(prefixes, fmt.Sprintf("10.%d", second))
	}
	prefixes = append(prefixes, "198.18", "198.19") // kept for measurements, so that no network uses them
	for second := 31; second >= 20; second-- {
		prefixes = append(prefixes, fmt.Sprintf("172.%d", second))
	}
	return prefixes
}

// chooseNetwork finds a block that clashes with no address and no route of the machine.
func chooseNetwork() (Network, error) {
	taken, err := takenPrefixes()
	if err != nil {
		return Network{}, err
	}
	for _, prefix := range candidates() {
		network := block(prefix)
		if !overlapsAny(netip.MustParsePrefix(network.Block), taken) {
			return network, nil
		}
	}
	return Network{}, fmt.Errorf("no block of addresses is free for the cluster: the machine has routes into all of " +
		"10.200.0.0 to 10.254.255.255, 198.18.0.0/15 and 172.20.0.0 to 172.31.255.255; " +
		"take down clusters that are no longer used, or disconnect a VPN that claims 10.0.0.0/8")
}

func overlapsAny(wanted netip.Prefix, taken []netip.Prefix) bool {
	for _, prefix := range taken {
		if wanted.Overlaps(prefix) {
			return true
		}
	}
	return false
}

// takenPrefixes are the destinations of the machine's IPv4 routes, its own addresses among them; not the default route.
func takenPrefixes() ([]netip.Prefix, error) {
	output, err := exec.Command("ip", "-4", "-json", "route", "show", "table", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("the machine's routes cannot be listed (`ip route show table all`): %w", err)
	}
	var routes []struct{ Dst string }
	if err := json.Unmarshal(output, &routes); err != nil {
		return nil, err
	}
	var taken []netip.Prefix
	for _, route := range routes {
		prefix, err := netip.ParsePrefix(route.Dst)
		if err != nil {
			address, err := netip.ParseAddr(route.Dst)
			if err != nil {
				continue // `default`
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Bits() > 1 { // 0.0.0.0/1 and 128.0.0.0/1 are how VPNs spell the default route
			taken = append(taken, prefix)
		}
	}
	return taken, nil
}

// freePorts finds ports of loopback outside the range from which the kernel takes ports for outgoing connections, so
// that none is taken before its component listens.
func freePorts(count int) ([]int, error) {
	low, high := 10000, 32000
	var first, last int
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &first, &last); err == nil && first < high {
			if high = first; high-low < 1000 {
				low, high = last+1, 65535
			}
		}
	}
	if high-low < 1000 {
		low, high = 10000, 65535
	}
	var ports []int
	for tries := 0; len(ports) < count && tries < 1000; tries++ {
		port := low + randomBelow(high-low)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = listener.Close() }() // held until all are found, so that no port is given twice
		ports = append(ports, port)
	}
	if len(ports) < count {
		return nil, fmt.Errorf("no %d free ports on 127.0.0.1 between %d and %d", count, low, high)
	}
	return ports, nil
}
