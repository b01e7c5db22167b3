package placement

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGolden pins owners. Nodes of different versions have to agree on them: when
// this test fails, the hash or the score has changed, and a cluster that is upgraded
// node by node would disagree about most slots meanwhile.
// The owners in the file were not computed by this package, but by its rule written
// once more in another language.
func TestGolden(t *testing.T) {
	t.Parallel()
	type golden struct {
		Name    string            `json:"name"`
		Members []Member          `json:"members"`
		Owners  map[string]string `json:"owners"` // by slot
	}
	name := filepath.Join("testdata", "owners.json")
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	var maps []golden
	require.NoError(t, json.Unmarshal(raw, &maps))
	require.NotEmpty(t, maps)
	for _, g := range maps {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			m := New(g.Members)
			require.NotEmpty(t, g.Owners)
			for slot, want := range g.Owners {
				require.Equal(t, want, m.Owner(slot), slot)
			}
		})
	}
}
