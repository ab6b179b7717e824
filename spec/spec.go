// Package spec holds the netlink interface of both modules as YNL specs, one file
// a family. They are embedded so that tests can speak by them.
package spec

import "embed"

//go:embed *.yaml
var files embed.FS

// File returns the spec of the family called name.
func File(name string) ([]byte, error) { return files.ReadFile(name + ".yaml") }
