// Records cenkalti/backoff from Debian's package, with a seeded generator and a clock of its own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cenkalti/backoff"
)

const version = "4.1.3"

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

type object = map[string]interface{}

func line(value interface{}) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// write makes a file of one line a case; Go sorts the keys.
func write(file string, records string, fields object, cases []object) {
	rows := []string{}
	for _, c := range cases {
		rows = append(rows, "  "+line(c))
	}
	head := fmt.Sprintf(" \"library\": \"github.com/cenkalti/backoff\",\n \"version\": %q,\n \"records\": %q,\n \"fields\": %s,\n", version, records, line(fields))
	text := "{\n" + head + " \"cases\": [\n" + strings.Join(rows, ",\n") + "\n ]\n}\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("TRACES_OUT"), file), []byte(text), 0o644); err != nil {
		panic(err)
	}
}

type settings struct {
	initial, max, elapsed time.Duration
	multiplier, factor    float64
}

func (s settings) make(c *clock) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.MaxElapsedTime = s.initial, s.max, s.elapsed
	b.Multiplier, b.RandomizationFactor, b.Clock = s.multiplier, s.factor, c
	b.Reset()
	return b
}

func (s settings) show() object {
	return object{"initial_ns": s.initial.Nanoseconds(), "max_interval_ns": s.max.Nanoseconds(), "max_elapsed_ns": s.elapsed.Nanoseconds(),
		"multiplier": s.multiplier, "randomization_factor": s.factor}
}

// series draws delays, letting the clock run through each of them, until the backoff stops.
func series(s settings, seed int64, most int) object {
	rand.Seed(seed)
	twin := rand.New(rand.NewSource(seed))
	c := &clock{time.Unix(0, 0)}
	b := s.make(c)
	delays, uniforms := []int64{}, []float64{}
	stopped := false
	for i := 0; i < most; i++ {
		uniforms = append(uniforms, twin.Float64())
		next := b.NextBackOff()
		if next == backoff.Stop {
			stopped = true
			break
		}
		delays = append(delays, next.Nanoseconds())
		c.now = c.now.Add(next)
	}
	return object{"settings": s.show(), "seed": seed, "uniforms": uniforms, "delays_ns": delays, "stopped": stopped}
}

func main() {
	ms, sec := time.Millisecond, time.Second
	base := settings{500 * ms, 60 * sec, 15 * time.Minute, 1.5, 0.5}
	exact := base
	exact.factor = 0
	endless := exact
	endless.elapsed = 0
	cases := []object{}
	for _, s := range []settings{exact, endless, {100 * ms, 10 * sec, 0, 2, 0}, {1, 1000 * time.Hour, 0, 1.1, 0}, {sec, sec, 0, 2, 0}, {10 * sec, sec, 0, 2, 0}} {
		c := series(s, 1, 60)
		delete(c, "uniforms")
		cases = append(cases, c)
	}
	for _, seed := range []int64{1, 2, 3} {
		cases = append(cases, series(base, seed, 60))
		cases = append(cases, series(settings{200 * ms, 2 * sec, 0, 2, 0.2}, seed, 20))
		cases = append(cases, series(settings{100 * ms, 10 * sec, 5 * sec, 2, 1}, seed, 40))
	}
	fields := object{"delays_ns": "before retry 1, 2, …; the clock runs through each delay and nothing else", "uniforms": "what rand.Float64() gave, one a delay",
		"stopped": "the last draw answered Stop: elapsed + next > max_elapsed; it is not among the delays", "max_elapsed_ns": "0 is no limit"}
	write("delays.json", "the delays of ExponentialBackOff", fields, cases)

	bounds := []object{}
	for _, s := range []settings{base, {100 * ms, 10 * sec, 0, 2, 0.1}, {100 * ms, 10 * sec, 0, 2, 1}} {
		s.elapsed = 0
		rand.Seed(7)
		low, high := make([]int64, 16), make([]int64, 16)
		for i := range low {
			low[i] = 1 << 62
		}
		for n := 0; n < 20000; n++ {
			b := s.make(&clock{time.Unix(0, 0)})
			for i := range low {
				d := b.NextBackOff().Nanoseconds()
				if d < low[i] {
					low[i] = d
				}
				if d > high[i] {
					high[i] = d
				}
			}
		}
		bounds = append(bounds, object{"settings": s.show(), "draws": 20000, "least_ns": low, "most_ns": high})
	}
	write("jitter-bounds.json", "least and greatest delay over many draws", object{"least_ns, most_ns": "entry r−1 is before retry r"}, bounds)

	far := []object{}
	for _, s := range []settings{endless, {100 * ms, time.Duration(1<<63 - 1), 0, 2, 0}, {100 * ms, time.Duration(1<<63 - 1), 0, 2, 0.5}} {
		rand.Seed(1)
		b := s.make(&clock{time.Unix(0, 0)})
		at, delays := []int{}, []int64{}
		for r := 1; r <= 2000; r++ {
			d := b.NextBackOff().Nanoseconds()
			if r == 1 || r == 10 || r == 30 || r == 36 || r == 37 || r == 38 || r == 39 || r == 40 || r == 64 || r == 100 || r == 1000 || r == 2000 {
				at, delays = append(at, r), append(delays, d)
			}
		}
		far = append(far, object{"settings": s.show(), "retries": at, "delays_ns": delays})
	}
	write("delays-far.json", "very late delays (seed 1)", object{"retries": "retry numbers"}, far)

	// Retry with a limit of retries, and with an error that must not be retried.
	calls := []object{}
	for _, retries := range []uint64{0, 1, 3} {
		attempts := 0
		err := backoff.Retry(func() error { attempts++; return errors.New("down") }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, retries))
		calls = append(calls, object{"policy": fmt.Sprintf("WithMaxRetries(ZeroBackOff, %d)", retries), "attempts_made": attempts, "error": err.Error()})
	}
	attempts := 0
	err := backoff.Retry(func() error { attempts++; return backoff.Permanent(errors.New("never")) }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 5))
	calls = append(calls, object{"policy": "WithMaxRetries(ZeroBackOff, 5), Permanent error", "attempts_made": attempts, "error": err.Error()})
	write("calls.json", "attempts of one failing call", object{}, calls)
}
