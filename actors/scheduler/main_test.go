package scheduler

import (
	"testing"

	"orbweaver/internal/actortest"
)

func TestMain(m *testing.M) { actortest.Main(m) }
