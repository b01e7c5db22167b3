package fetcher_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

// serveEnv makes the test binary serve pages until its standard input ends, so
// that a benchmark's CPU time holds no server.
const serveEnv = "ORBWEAVER_FETCHER_BENCH_SERVER"

func serveBench() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	page := []byte(strings.Repeat("<p>hello, crawler</p>\n", 372)) // 8 KiB
	srv := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBody(page)
	}}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if _, err := os.Stdout.WriteString(l.Addr().String() + "\n"); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(srv.Shutdown(), <-served)
}

func benchServer(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	return "http://" + strings.TrimSpace(line) + "/page?x=1"
}

func BenchmarkSlotDo(b *testing.B) {
	url := benchServer(b)
	c, err := fetcher.New(fetcher.Config{Guard: netguard.Policy{AllowPrivate: true}})
	require.NoError(b, err)
	s := c.Slot()
	defer s.Close()
	req := &crawl.Request{URL: url}
	cpu := cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		resp := s.Do(context.Background(), req, fetcher.Permit{NotAfter: time.Now().Add(time.Minute)}, nil)
		if resp.Status != 200 || len(resp.Body) != 8184 {
			b.Fatal(resp.Cause, resp.Err, resp.Status, len(resp.Body))
		}
		c.Release(resp)
	}
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func BenchmarkFasthttpDo(b *testing.B) {
	url := benchServer(b)
	c := &fasthttp.Client{ReadBufferSize: 64 << 10, MaxIdemponentCallAttempts: 1, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	defer c.CloseIdleConnections()
	cpu := cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI(url)
		if err := c.Do(req, resp); err != nil || len(resp.Body()) != 8184 {
			b.Fatal(err)
		}
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
