package crawl

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of message Request in messages/crawl.proto.
const (
	fieldID = iota + 1
	fieldURL
	fieldMethod
	fieldHeader
	fieldBody
	fieldPriority
	fieldDepth
	fieldDontFilter
	fieldSeed
	fieldAttempts
	fieldBusy
	fieldRedirects
	fieldReferer
	fieldMeta
	fieldFingerprint
)

// AppendBinary appends the request in its stored form: protobuf message Request.
// It never fails; the error is there for encoding.BinaryAppender.
func (r *Request) AppendBinary(b []byte) ([]byte, error) {
	if !r.ID.IsZero() {
		b = appendBytes(b, fieldID, r.ID[:])
	}
	b = appendString(b, fieldURL, r.URL)
	b = appendString(b, fieldMethod, r.Method)
	for _, h := range r.Headers {
		n := 0
		if h.Name != "" {
			n += 1 + protowire.SizeBytes(len(h.Name))
		}
		if h.Value != "" {
			n += 1 + protowire.SizeBytes(len(h.Value))
		}
		b = protowire.AppendTag(b, fieldHeader, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(n)) //nolint:gosec // a length
		b = appendString(b, 1, h.Name)
		b = appendString(b, 2, h.Value)
	}
	b = appendBytes(b, fieldBody, r.Body)
	if r.Priority != 0 {
		b = protowire.AppendTag(b, fieldPriority, protowire.VarintType)
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(int64(r.Priority)))
	}
	b = appendInt(b, fieldDepth, r.Depth)
	b = appendBool(b, fieldDontFilter, r.DontFilter)
	b = appendBool(b, fieldSeed, r.Seed)
	b = appendInt(b, fieldAttempts, r.Attempts)
	b = appendInt(b, fieldBusy, r.Busy)
	b = appendInt(b, fieldRedirects, r.Redirects)
	b = appendString(b, fieldReferer, r.Referer)
	b = appendBytes(b, fieldMeta, r.Meta)
	if r.Fingerprint != (Fingerprint{}) {
		b = appendBytes(b, fieldFingerprint, r.Fingerprint[:])
	}
	return append(b, r.unknown...), nil
}

func appendBytes(b []byte, n protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func appendString(b []byte, n protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func appendInt(b []byte, n protowire.Number, v int32) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v)) //nolint:gosec // protobuf's int32: sign extended
}

func appendBool(b []byte, n protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), 1)
}

var errWireType = errors.New("unexpected wire type")

// UnmarshalBinary reads what AppendBinary wrote, by this or another version:
// fields it does not know are kept and written again. The request is reset first;
// strings and slices are copies, so b may be reused.
func (r *Request) UnmarshalBinary(b []byte) error {
	*r = Request{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("crawl: decode request: %w", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return fmt.Errorf("crawl: decode request field %d: %w", num, protowire.ParseError(size))
		}
		known, err := r.setField(num, typ, b[n:n+size])
		if err != nil {
			return fmt.Errorf("crawl: decode request field %d: %w", num, err)
		}
		if !known {
			r.unknown = append(r.unknown, b[:n+size]...)
		}
		b = b[n+size:]
	}
	return nil
}

func (r *Request) setField(num protowire.Number, typ protowire.Type, b []byte) (bool, error) {
	switch num {
	case fieldID, fieldURL, fieldMethod, fieldHeader, fieldBody, fieldReferer, fieldMeta, fieldFingerprint:
		if typ != protowire.BytesType {
			return true, errWireType
		}
		v, _ := protowire.ConsumeBytes(b)
		return true, r.setBytes(num, v)
	case fieldPriority, fieldDepth, fieldDontFilter, fieldSeed, fieldAttempts, fieldBusy, fieldRedirects:
		if typ != protowire.VarintType {
			return true, errWireType
		}
		v, _ := protowire.ConsumeVarint(b)
		r.setVarint(num, v)
		return true, nil
	}
	return false, nil
}

func (r *Request) setBytes(num protowire.Number, v []byte) error {
	switch num {
	case fieldID:
		if len(v) != len(r.ID) {
			return fmt.Errorf("id of %d bytes", len(v))
		}
		copy(r.ID[:], v)
	case fieldURL:
		r.URL = string(v)
	case fieldMethod:
		r.Method = string(v)
	case fieldHeader:
		h, err := decodeHeader(v)
		if err != nil {
			return err
		}
		r.Headers = append(r.Headers, h)
	case fieldBody:
		r.Body = append([]byte(nil), v...)
	case fieldReferer:
		r.Referer = string(v)
	case fieldMeta:
		r.Meta = append([]byte(nil), v...)
	case fieldFingerprint:
		if len(v) != len(r.Fingerprint) {
			return fmt.Errorf("fingerprint of %d bytes", len(v))
		}
		copy(r.Fingerprint[:], v)
	}
	return nil
}

func (r *Request) setVarint(num protowire.Number, v uint64) {
	n := int32(v) //nolint:gosec // protobuf's int32 truncates
	switch num {
	case fieldPriority:
		r.Priority = int32(protowire.DecodeZigZag(v & 0xffffffff)) //nolint:gosec // sint32
	case fieldDepth:
		r.Depth = n
	case fieldDontFilter:
		r.DontFilter = v != 0
	case fieldSeed:
		r.Seed = v != 0
	case fieldAttempts:
		r.Attempts = n
	case fieldBusy:
		r.Busy = n
	case fieldRedirects:
		r.Redirects = n
	}
}

func decodeHeader(b []byte) (Header, error) {
	var h Header
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return h, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return h, protowire.ParseError(size)
		}
		if typ == protowire.BytesType && (num == 1 || num == 2) {
			v, _ := protowire.ConsumeBytes(b[n:])
			if num == 1 {
				h.Name = string(v)
			} else {
				h.Value = string(v)
			}
		}
		b = b[n+size:]
	}
	return h, nil
}
