package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

// runImage writes an archive with one image of one layer, for programs that need nothing else.
func runImage(_ context.Context, _ string, arguments []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	reference := flags.String("reference", "", "the image's name and tag, as pods name it")
	out := flags.String("out", "", "the archive to write")
	entrypoint := flags.String("entrypoint", "", "the program that the image runs")
	user := flags.String("user", "65532:65532", "the user that it runs as")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *reference == "" || *out == "" || flags.NArg() == 0 {
		return errors.New("image takes --reference NAME, --out FILE.tar and files as SOURCE=PATH")
	}
	layer, err := layerOf(flags.Args())
	if err != nil {
		return err
	}
	settings := object{"User": *user, "Env": []string{"PATH=/bin"}, "WorkingDir": "/"}
	if *entrypoint != "" {
		settings["Entrypoint"] = []string{*entrypoint}
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": settings,
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]object{{
		"Config": "config.json", "RepoTags": []string{*reference}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, part := range []struct {
		name string
		data []byte
	}{{"layer.tar", layer}, {"config.json", config}, {"manifest.json", manifest}} {
		if err := addFile(writer, part.name, part.data, 0o644); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return os.WriteFile(*out, archive.Bytes(), 0o644)
}

func layerOf(files []string) ([]byte, error) {
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	made := map[string]bool{}
	for _, file := range files {
		source, target, found := strings.Cut(file, "=")
		if !found || !path.IsAbs(target) {
			return nil, fmt.Errorf("%q is not SOURCE=PATH, with an absolute path in the image", file)
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		if err := addFolders(writer, path.Dir(target)[1:], made); err != nil {
			return nil, err
		}
		if err := addFile(writer, target[1:], data, int64(info.Mode().Perm()|0o444)); err != nil {
			return nil, err
		}
	}
	return layer.Bytes(), writer.Close()
}

func addFolders(writer *tar.Writer, folder string, made map[string]bool) error {
	if folder == "" || made[folder] {
		return nil
	}
	if parent, _ := path.Split(folder); parent != "" {
		if err := addFolders(writer, strings.TrimSuffix(parent, "/"), made); err != nil {
			return err
		}
	}
	made[folder] = true
	return writer.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: time.Unix(0, 0),
	})
}

func addFile(writer *tar.Writer, name string, data []byte, mode int64) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: time.Unix(0, 0),
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := writer.Write(data)
	return err
}
