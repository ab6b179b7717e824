// Package contrib holds examples of how a machine is set up for rxpost: settings
// of the modules, and a unit that makes a receiver at boot. They are embedded so
// that the tests run what is written in them.
package contrib

import "embed"

//go:embed modprobe.d systemd
var files embed.FS

// File returns the text of the example called name, such as
// "modprobe.d/rxpost.conf".
func File(name string) (string, error) {
	text, err := files.ReadFile(name)
	return string(text), err
}
