//go:build !linux

package chaos

import (
	"context"
	"errors"

	"orbweaver/internal/faultproxy"
)

type (
	namespace struct{ name string }
	link      struct{}
)

func newNamespace(*testbed) (*namespace, error) {
	return nil, errors.New("chaos: network namespaces are Linux's")
}

func (*namespace) connect(context.Context, int) (*link, error) { return nil, errors.ErrUnsupported }

func (*link) far() string { return "" }

func (*link) cut(faultproxy.Fault) func() { return func() {} }
