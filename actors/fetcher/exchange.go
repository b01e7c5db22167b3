package fetcher

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"orbweaver/core/crawl"
)

// exchange is one request and its response on one connection.
type exchange struct {
	client   *Client
	req      *crawl.Request
	resp     *crawl.Response
	conn     *conn
	permit   Permit
	sent     func(at time.Time)
	options  options
	via      *proxy // nil for the direct way
	start    time.Time
	deadline time.Time // of the whole fetch

	br        *bufio.Reader // nil unless the header is being read or the body
	large     bool          // br is one of the large ones
	forwarded bool          // the proxy has the request's URL, and answers in the site's place
	began     time.Time     // latency counts from here
}

// fail ends the fetch without a response.
func (x *exchange) fail(cause crawl.Cause, detail string) {
	x.client.Release(x.resp)
	x.resp.Status, x.resp.Headers = 0, nil
	x.resp.Cause, x.resp.Err = cause, errText(detail)
}

// run does the exchange and reports whether the connection can serve another.
func (x *exchange) run(ctx context.Context, t *target, wire []byte) (keep bool) {
	if x.conn.served {
		x.began = time.Now()
		if x.forwarded && !x.readmit(ctx, t) {
			return true // nothing was written
		}
	} else {
		x.began = x.start
		if !x.connect(ctx, t) {
			return false
		}
	}
	if err := x.conn.begin(x.permit, x.headerDeadline()); err != nil {
		x.broken(err, "", x.conn.served)
		return false
	}
	if _, err := x.conn.Write(wire); err != nil {
		if errors.Is(err, errTooLate) {
			x.fail(crawl.CauseTooLate, err.Error())
			return true // nothing was written
		}
		x.broken(err, "write request", x.conn.served)
		return false
	}
	x.resp.SentAt = time.Now()
	if x.sent != nil {
		x.sent(x.resp.SentAt)
	}
	keep = x.receive()
	x.resp.Wire = x.conn.read
	if x.via != nil {
		x.judgeProxy()
	}
	return keep
}

// headerDeadline is until when the header must have come.
func (x *exchange) headerDeadline() time.Time {
	limit := x.client.cfg.HeaderTimeout
	if limit >= x.options.timeout {
		return x.deadline
	}
	if end := time.Now().Add(limit); end.Before(x.deadline) {
		return end
	}
	return x.deadline
}

func (x *exchange) connect(ctx context.Context, t *target) bool {
	deadline := x.start.Add(x.client.cfg.ConnectTimeout)
	if x.deadline.Before(deadline) {
		deadline = x.deadline
	}
	if end := x.permit.NotAfter; !end.IsZero() && end.Before(deadline) {
		deadline = end // connecting for longer is of no use
	}
	err := x.client.connect(ctx, x.conn, t, x.via, deadline)
	if err == nil {
		if !x.forwarded {
			x.via.succeeded()
		}
		return true
	}
	x.unconnected(ctx, err)
	return false
}

// readmit judges the site anew before a proxy is given its name once more: the
// proxy looks it up anew too.
func (x *exchange) readmit(ctx context.Context, t *target) bool {
	ctx, cancel := context.WithDeadline(ctx, x.deadline)
	defer cancel()
	_, err := x.client.admit(ctx, t, x.via)
	if err != nil {
		x.unconnected(ctx, err)
	}
	return err == nil
}

// unconnected ends a fetch that has no connection.
func (x *exchange) unconnected(ctx context.Context, err error) {
	var noProxy *proxyError
	switch {
	case x.conn.aborted.Load(), ctx.Err() != nil && !isTimeout(ctx.Err()):
		x.fail(crawl.CauseCancelled, "fetch was cancelled while connecting")
	case isTimeout(err) && x.permit.over(time.Now()):
		x.fail(crawl.CauseTooLate, errTooLate.Error())
	case connectCause(err) == crawl.CauseTimeout:
		x.fail(crawl.CauseTimeout, "connecting took too long")
	case connectCause(err) == crawl.CauseProxy && errors.As(err, &noProxy):
		x.via.failed(noProxy.certain)
		x.fail(crawl.CauseProxy, err.Error())
	default:
		x.fail(connectCause(err), err.Error())
	}
}

// broken ends the fetch with what the connection ended with. unanswered says
// that the connection was kept and not a byte of an answer has come.
func (x *exchange) broken(err error, doing string, unanswered bool) {
	cause := streamCause(err)
	switch {
	case x.conn.aborted.Load():
		x.fail(crawl.CauseCancelled, "fetch was cancelled")
	case unanswered && cause == crawl.CauseReset:
		x.fail(crawl.CauseStale, "kept connection was closed by the server")
	default:
		x.fail(cause, doing+": "+err.Error())
	}
}

// malformed ends the fetch for an answer that err objects to, unless the
// connection had ended: then that is why.
func (x *exchange) malformed(err error, doing string) {
	if ended := x.conn.readErr; ended != nil {
		x.broken(ended, doing, false)
		return
	}
	if x.conn.aborted.Load() {
		x.broken(err, doing, false)
		return
	}
	x.fail(crawl.CauseMalformed, doing+": "+err.Error())
}

func (x *exchange) receive() (keep bool) {
	if x.client.reading.Add(1) > waitingReaders {
		x.conn.awaitReadable()
	}
	defer x.client.reading.Add(-1)
	x.br = x.client.small.Get().(*bufio.Reader) //nolint:forcetypeassert // only *bufio.Reader is put
	x.br.Reset(x.conn)
	defer x.dropReader()
	h, ok := x.readHead()
	if !ok {
		return false
	}
	if x.forwarded && h.status == 407 {
		x.via.failed(true)
		x.fail(crawl.CauseProxy, x.via.name()+": "+errCredentials.Error())
		return false
	}
	x.resp.Latency = time.Since(x.began)
	x.resp.Status, x.resp.Headers = h.status, h.fields
	return x.readBody(&h) && h.keep && x.br.Buffered() == 0 && len(x.conn.pending) == 0
}

// readHead reads up to the end of the final response's header. A switch of
// protocols that nobody asked for is passed over like any interim response: what
// speaks HTTP afterwards has not switched.
func (x *exchange) readHead() (h head, ok bool) {
	spent := 0 // bytes of interim responses
	for {
		block, ok := x.readBlock(x.client.cfg.MaxHeaderBytes-spent, h.status == 101)
		if !ok {
			return h, false
		}
		spent += len(block)
		var err error
		if h, err = parseHead(block); err != nil {
			x.malformed(err, "read header")
			return h, false
		}
		if _, err := x.br.Discard(len(block)); err != nil {
			x.malformed(err, "read header")
			return h, false
		}
		if h.status >= 200 {
			return h, true
		}
	}
}

// readBlock gives the next header block, of at most limit bytes, still in br.
// switched says that the one before announced another protocol.
func (x *exchange) readBlock(limit int, switched bool) (block []byte, ok bool) {
	for searched, want := 0, 1; ; want = searched + 1 {
		if _, err := x.br.Peek(want); err != nil {
			if errors.Is(err, bufio.ErrBufferFull) && !x.large {
				x.grow()
				continue
			}
			unanswered := x.conn.served && x.conn.read == 0
			if switched && errors.Is(x.conn.readErr, io.EOF) {
				x.fail(crawl.CauseMalformed, "read header: "+errSwitched.Error())
			} else if x.conn.readErr != nil {
				x.broken(x.conn.readErr, "read header", unanswered)
			} else {
				x.malformed(errHeaderSize, "read header")
			}
			return nil, false
		}
		b, _ := x.br.Peek(x.br.Buffered()) // cannot fail
		if searched < len("HTTP/") && !statusPrefix(b) {
			x.malformed(errNotHTTP, "read header")
			return nil, false
		}
		end := blockEnd(b, searched)
		if end > limit || end == 0 && len(b) >= limit {
			x.malformed(errHeaderSize, "read header")
			return nil, false
		}
		if end > 0 {
			return b[:end], true
		}
		searched = len(b)
	}
}

// grow goes on in a large reader when a header does not fit in a small one.
func (x *exchange) grow() {
	b, _ := x.br.Peek(x.br.Buffered()) // cannot fail
	x.conn.pending = append([]byte(nil), b...)
	x.dropReader()
	x.br = x.client.large.Get().(*bufio.Reader) //nolint:forcetypeassert // only *bufio.Reader is put
	x.br.Reset(x.conn)
	x.large = true
}

func (x *exchange) dropReader() {
	x.br.Reset(nil)
	if x.large {
		x.client.large.Put(x.br)
	} else {
		x.client.small.Put(x.br)
	}
	x.br = nil
}

// readBody reads the body to its end, as the header frames it, and removes its
// codings.
func (x *exchange) readBody(h *head) bool {
	if h.length == 0 || bodiless(h.status) || x.req.MethodOrGet() == "HEAD" {
		return true
	}
	codings, err := codingsOf(h.fields)
	if codings = append(codings, h.transfer...); len(codings) > maxCodings {
		err = errCodings
	}
	if err != nil {
		x.fail(crawl.CauseEncoding, err.Error())
		return false
	}
	cfg := &x.client.cfg
	w := &x.conn.body
	limit := x.options.maxSize
	if x.permit.Head > 0 {
		limit = noLimit
	}
	w.open(x.br, h.length, limit)
	x.conn.pace = pace{
		period:  cfg.StallTimeout,
		least:   int64(float64(cfg.StallRate) * cfg.StallTimeout.Seconds()),
		overall: x.deadline,
	}
	if len(codings) == 0 {
		x.resp.Body, err = x.client.bodies.readAll(startOf(w, x.permit.Head), h.length)
	} else {
		x.resp.Body, err = x.client.decode(w, codings, x.permit.Head)
	}
	if err == nil {
		return w.err != nil // or the rest is still to come
	}
	var undecoded *codingError
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errBomb):
		x.fail(crawl.CauseTooLarge, err.Error())
	case errors.As(err, &undecoded):
		x.fail(crawl.CauseEncoding, err.Error())
		return w.transport() == nil
	default:
		x.malformed(err, "read body")
	}
	return false
}
