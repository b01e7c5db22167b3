package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"orbweaver/core/crawl"
	"orbweaver/messages"
)

// requests draws any request that can be stored.
func requests(t *rapid.T) *crawl.Request {
	r := &crawl.Request{
		URL:        rapid.String().Draw(t, "url"),
		Method:     rapid.SampledFrom([]string{"", "GET", "POST"}).Draw(t, "method"),
		Body:       nilIfEmpty(rapid.SliceOf(rapid.Byte()).Draw(t, "body")),
		Priority:   rapid.Int32().Draw(t, "priority"),
		Depth:      rapid.Int32().Draw(t, "depth"),
		DontFilter: rapid.Bool().Draw(t, "dont_filter"),
		Seed:       rapid.Bool().Draw(t, "seed"),
		Attempts:   rapid.Int32().Draw(t, "attempts"),
		Busy:       rapid.Int32().Draw(t, "busy"),
		Redirects:  rapid.Int32().Draw(t, "redirects"),
		Referer:    rapid.String().Draw(t, "referer"),
		Meta:       nilIfEmpty(rapid.SliceOf(rapid.Byte()).Draw(t, "meta")),
	}
	copy(r.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	copy(r.Fingerprint[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "fingerprint"))
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		r.Headers = append(r.Headers, crawl.Header{Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value")})
	}
	return r
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// message is the generated form of the same request.
func message(r *crawl.Request) *messages.Request {
	m := &messages.Request{
		Url: r.URL, Method: r.Method, Body: r.Body, Priority: r.Priority, Depth: r.Depth, DontFilter: r.DontFilter,
		Seed: r.Seed, Attempts: r.Attempts, Busy: r.Busy, Redirects: r.Redirects, Referer: r.Referer, Meta: r.Meta,
	}
	if !r.ID.IsZero() {
		m.Id = r.ID[:]
	}
	if r.Fingerprint != (crawl.Fingerprint{}) {
		m.Fingerprint = r.Fingerprint[:]
	}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, &messages.Header{Name: h.Name, Value: h.Value})
	}
	return m
}

// The encoding by hand and the generated one are the same message.
func TestRequestEncodingIsTheMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests(t)
		ours, err := want.AppendBinary(nil)
		require.NoError(t, err)

		var m messages.Request
		require.NoError(t, proto.Unmarshal(ours, &m))
		require.True(t, proto.Equal(message(want), &m), "%v is not %v", &m, message(want))

		theirs, err := proto.Marshal(message(want))
		require.NoError(t, err)
		var got crawl.Request
		require.NoError(t, got.UnmarshalBinary(theirs))
		require.Equal(t, want, &got)
	})
}

// What a newer version stored survives this one.
func TestUnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	in, err := (&crawl.Request{URL: "http://a/"}).AppendBinary(nil)
	require.NoError(t, err)
	newer := protowire.AppendString(protowire.AppendTag(in, 99, protowire.BytesType), "from the future")
	var r crawl.Request
	require.NoError(t, r.UnmarshalBinary(newer))
	require.Equal(t, "http://a/", r.URL)
	r.Attempts = 3
	out, err := r.AppendBinary(nil)
	require.NoError(t, err)
	var again messages.Request
	require.NoError(t, proto.Unmarshal(out, &again))
	require.Equal(t, int32(3), again.GetAttempts())
	require.Contains(t, string(again.ProtoReflect().GetUnknown()), "from the future")
}

func TestRequestDecodingRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{"cut tag", []byte{0x80}, "decode request"},
		{"cut field", []byte{0x12, 5, 'a'}, "field 2"},
		{"short id", []byte{0x0a, 1, 'x'}, "id of 1 bytes"},
		{"short fingerprint", []byte{0x7a, 1, 'x'}, "fingerprint of 1 bytes"},
		{"wrong type", []byte{0x10, 1}, "field 2: unexpected wire type"},
		{"number as text", []byte{0x32, 1, 'x'}, "field 6: unexpected wire type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r crawl.Request
			require.ErrorContains(t, r.UnmarshalBinary(tt.in), tt.want)
		})
	}
}

func FuzzRequest(f *testing.F) {
	seed, err := (&crawl.Request{URL: "http://a/", Headers: []crawl.Header{{Name: "A", Value: "b"}}, Priority: -3}).AppendBinary(nil)
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte{0x22, 2, 0x0a, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		var r, again crawl.Request
		if r.UnmarshalBinary(in) != nil {
			return
		}
		out, err := r.AppendBinary(nil)
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalBinary(out))
		require.Equal(t, r, again, "what was read is what is stored")
	})
}
