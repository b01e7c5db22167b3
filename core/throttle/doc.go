// Package throttle decides when a slot may send its next request. A slot is the
// unit of politeness: a host, an address or a named group. The main type is
// Slot: events in (started, done, paused, ...), decisions with a reason out.
//
// The base is Scrapy's AutoThrottle and download-slot schedule, in the same
// float64 arithmetic. Above it stand, each by a setting: Retry-After holds, the
// site's RateLimit fields, a quota learned from 429 answers, exponential back-off, the
// Crawl-delay floor, a share of server errors, a circuit breaker and pause. One
// rule of Scrapy is left out on purpose: an idle slot keeps its learned delay,
// where Scrapy forgets it after 60 s.
//
// The package is pure. It reads no clock (callers pass now), starts no
// goroutine and does no I/O; a Slot is confined to its caller's goroutine.
//
// What Next answers; the first row that applies wins, except that among the
// timed rows the latest time wins:
//
//	state                                 answer          reason       ends with
//	paused                                wait, no time   paused       Pause(false)
//	start delay not over                  wait until At   delay        At
//	  Crawl-delay is the larger part      wait until At   crawl-delay  At
//	  a rate limit's spread is larger     wait until At   rate-limit   At
//	  the learned quota is larger         wait until At   quota        At
//	  errors are part of the delay        wait until At   errors       At
//	  back-off is part of the delay       wait until At   backoff      At
//	hold (Retry-After, limits or Hold)    wait until At   the hold's   At
//	circuit open                          wait until At   circuit      At
//	delay > 0 and a request is unwritten  wait, no time   the delay's  Started, Abandoned, Done
//	circuit half-open, one in flight      wait, no time   circuit      Done
//	slow start, as many as allowed        wait, no time   backoff      Done
//	  of a new slot                       wait, no time   slow-start   Done
//	as many in flight as the concurrency  wait, no time   concurrency  Done
//	otherwise                             go
//
// What Done does with a result, besides AutoThrottle's adjustment:
//
//	result                        back-off  circuit   slow start
//	429 with a QuotaMemory        - (holds) failure   begins
//	429, 503 with Retry-After     - (holds) failure   begins
//	429, 503 without              doubles   failure   begins
//	site fault                    doubles   failure   begins
//	other 5xx                     -         failure   -
//	other status                  shrinks   success   one more at once
//	no status and no site fault   -         -         -
//
// Slow start keeps a slot that was held from bursting when its delay is zero:
// one request at a time until a good answer comes, then one more with each.
// Requests that were in flight when it began do not end it, and when a failure
// began it they do not double the back-off again: a site that fails eight requests
// at once has failed once. They do count as failures for the circuit, except for
// 429 where quotas are learned.
//
// The circuit opens after CircuitFailures failures in a row and stays open for
// CircuitOpenFor. Then one request at a time is let through as a probe: a good
// answer closes the circuit, a failure opens it for twice as long.
package throttle
