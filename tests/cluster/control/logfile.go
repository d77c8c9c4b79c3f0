package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const logLimit = 8 << 20

// logFile is a file that never holds more than logLimit: when it is full, it takes the place of its predecessor, with
// `.1` behind its name, and begins anew.
type logFile struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := &logFile{path: path}
	return l, l.open(os.O_APPEND)
}

func (l *logFile) open(how int) error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends text. It never fails towards the component, which would only stop on it.
func (l *logFile) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(text)) > logLimit {
		_ = l.file.Close()
		_ = os.Rename(l.path, l.path+".1")
		if err := l.open(os.O_TRUNC); err != nil {
			return len(text), nil
		}
	}
	written, _ := l.file.Write(text)
	l.size += int64(written)
	return len(text), nil
}

func (l *logFile) note(format string, values ...any) {
	_, _ = fmt.Fprintf(l, "--- "+format+"\n", values...)
}

// tail is the last lines of a file.
func tail(path string, count int) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > 1<<16 {
		_, _ = file.Seek(-(1 << 16), io.SeekEnd)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return strings.Join(all[max(0, len(all)-count):], "\n")
}
