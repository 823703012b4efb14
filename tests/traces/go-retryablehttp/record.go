// Records hashicorp/go-retryablehttp from Debian's package, over a transport that answers from a
// script; the waits are those that its backoff asks for, and nobody sleeps through them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const version = "0.7.1"

type object = map[string]interface{}

func line(value interface{}) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func write(file string, records string, fields object, cases []object) {
	rows := []string{}
	for _, c := range cases {
		rows = append(rows, "  "+line(c))
	}
	head := fmt.Sprintf(" \"library\": \"github.com/hashicorp/go-retryablehttp\",\n \"version\": %q,\n \"records\": %q,\n \"fields\": %s,\n", version, records, line(fields))
	text := "{\n" + head + " \"cases\": [\n" + strings.Join(rows, ",\n") + "\n ]\n}\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("TRACES_OUT"), file), []byte(text), 0o644); err != nil {
		panic(err)
	}
}

func answer(outcome string) *http.Response {
	parts := strings.SplitN(outcome, " retry-after=", 2)
	status := 0
	fmt.Sscan(parts[0], &status)
	header := http.Header{}
	if len(parts) > 1 {
		header.Set("Retry-After", parts[1])
	}
	return &http.Response{StatusCode: status, Status: parts[0], Header: header, Body: io.NopCloser(strings.NewReader("")), ProtoMajor: 1}
}

type script struct {
	outcomes []string
	sent     []string
}

func (s *script) RoundTrip(*http.Request) (*http.Response, error) {
	at := len(s.sent)
	if at >= len(s.outcomes) {
		at = len(s.outcomes) - 1
	}
	s.sent = append(s.sent, s.outcomes[at])
	if s.outcomes[at] == "refused" {
		return nil, errors.New("connection refused")
	}
	return answer(s.outcomes[at]), nil
}

func main() {
	sec, ms := time.Second, time.Millisecond
	delays := []object{}
	for _, s := range []struct{ min, max time.Duration }{{sec, 30 * sec}, {100 * ms, 100 * sec}, {sec, sec}, {10 * sec, sec}, {0, 30 * sec}, {sec, 1<<63 - 1}} {
		at, out := []int{}, []int64{}
		for n := 0; n < 40; n++ {
			at, out = append(at, n), append(out, retryablehttp.DefaultBackoff(s.min, s.max, n, nil).Nanoseconds())
		}
		for _, n := range []int{62, 63, 64, 100, 1000, 1023, 1024, 1025, 2000} {
			at, out = append(at, n), append(out, retryablehttp.DefaultBackoff(s.min, s.max, n, nil).Nanoseconds())
		}
		delays = append(delays, object{"min_ns": s.min.Nanoseconds(), "max_ns": s.max.Nanoseconds(), "attempt_numbers": at, "delays_ns": out})
	}
	write("delays.json", "DefaultBackoff without a response", object{"attempt_numbers": "0 is before the first retry", "delays_ns": "the wait that it asks for"}, delays)

	hints := []object{}
	for _, status := range []string{"429", "503", "500", "413"} {
		for _, hint := range []string{"0", "1", "120", "86400", "-5", "1.5", "soon", "Tue, 14 Nov 2023 22:13:50 GMT"} {
			for _, n := range []int{0, 3} {
				outcome := status + " retry-after=" + hint
				hints = append(hints, object{"answer": outcome, "attempt_number": n, "min_ns": sec.Nanoseconds(), "max_ns": (30 * sec).Nanoseconds(),
					"delay_ns": retryablehttp.DefaultBackoff(sec, 30*sec, n, answer(outcome)).Nanoseconds()})
			}
		}
	}
	write("retry-after.json", "DefaultBackoff with a response that carries Retry-After", object{"answer": "status and header", "attempt_number": "0 is before the first retry"}, hints)

	// The generator of the linear jitter is seeded from the clock: bounds only, to a thousandth.
	linear := []object{}
	for _, s := range []struct{ min, max time.Duration }{{800 * ms, 1200 * ms}, {sec, 30 * sec}, {sec, sec}, {2 * sec, sec}} {
		for n := 0; n < 5; n++ {
			low, high := int64(1<<62), int64(0)
			for i := 0; i < 30000; i++ {
				d := retryablehttp.LinearJitterBackoff(s.min, s.max, n, nil).Nanoseconds()
				if d < low {
					low = d
				}
				if d > high {
					high = d
				}
			}
			unit := int64(ms) * int64(n+1)
			linear = append(linear, object{"min_ns": s.min.Nanoseconds(), "max_ns": s.max.Nanoseconds(), "attempt_number": n, "draws": 30000,
				"least_ns": (low / unit) * unit, "most_ns": ((high + unit - 1) / unit) * unit})
		}
	}
	write("linear-jitter-bounds.json", "LinearJitterBackoff: least and greatest wait over many draws", object{"attempt_number": "0 is before the first retry",
		"least_ns, most_ns": "rounded outwards to a millisecond times the number of the retry"}, linear)

	calls := []object{}
	for _, retries := range []int{-1, 0, 2} {
		for _, method := range []string{"GET", "POST"} {
			for _, outcomes := range [][]string{{"500"}, {"501"}, {"502"}, {"503"}, {"504"}, {"599"}, {"429"}, {"404"}, {"408"}, {"200"}, {"refused"}, {"503 retry-after=7"}, {"500", "429", "200"}, {"429 retry-after=90"}} {
				s := &script{outcomes: outcomes}
				client := retryablehttp.NewClient()
				client.Logger = nil
				client.HTTPClient = &http.Client{Transport: s}
				if retries >= 0 {
					client.RetryMax = retries
				}
				waits := []int64{}
				client.Backoff = func(min, max time.Duration, n int, resp *http.Response) time.Duration {
					waits = append(waits, retryablehttp.DefaultBackoff(min, max, n, resp).Nanoseconds())
					return 0
				}
				request, err := retryablehttp.NewRequest(method, "http://localhost:1/", nil)
				if err != nil {
					panic(err)
				}
				response, err := client.Do(request)
				result := ""
				if err != nil {
					result = "error"
				} else {
					result = response.Status
					if result == "" {
						result = fmt.Sprint(response.StatusCode)
					}
				}
				shown := interface{}(retries)
				if retries < 0 {
					shown = "default"
				}
				calls = append(calls, object{"retry_max": shown, "method": method, "script": outcomes, "attempts_made": len(s.sent), "waits_ns": waits, "result": result})
			}
		}
	}
	write("calls.json", "attempts and waits of one call", object{"script": "answer to attempt 1, 2, …; the last repeats", "waits_ns": "what the default backoff asked for before each retry",
		"result": "status, or error"}, calls)
}
