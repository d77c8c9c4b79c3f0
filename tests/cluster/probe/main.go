// Probe is what the cluster's own tests run in pods: it serves, asks, resolves, and shows files.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) == 0 {
		words = []string{"serve"}
	}
	argument := strings.Join(words[1:], " ")
	switch words[0] {
	case "serve":
		fmt.Println("the probe serves")
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, "hello from", name)
		}))
	case "get":
		return get(argument)
	case "resolve":
		addresses, err := net.LookupHost(argument)
		fmt.Println(strings.Join(addresses, "\n"))
		return err
	case "show":
		text, err := os.ReadFile(argument)
		fmt.Print(string(text))
		return err
	case "say":
		fmt.Println(argument)
		return nil
	}
	return fmt.Errorf("the probe knows serve, get URL, resolve NAME, show FILE and say WORDS, not %q", words[0])
}

func get(url string) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
