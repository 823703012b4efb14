// What the Node recorders share: scripted uniforms, a virtual clock, and a writer of JSON.
//
// Nothing here waits for real time. `installClock` must run before the library under test is
// loaded, so that the library sees the virtual `Date.now`, `setTimeout` and `setInterval`.

import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';

const realSetImmediate = globalThis.setImmediate;

/** A small generator of uniforms in [0,1) (mulberry32), so that a script is its seed. */
export function uniforms(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The greatest double below one. */
export const ALMOST_ONE = 1 - 2 ** -53;

/** Replaces `Math.random` by `next` and returns the list that every number consumed is put on. */
export function scriptRandom(next) {
  const consumed = [];
  Math.random = () => {
    const u = next();
    consumed.push(u);
    return u;
  };
  return consumed;
}

/** Lets every pending promise settle. */
export async function settle() {
  for (let i = 0; i < 40; i++) await Promise.resolve();
  await new Promise(resolve => realSetImmediate(resolve));
}

/**
 * A virtual clock in milliseconds. Timers fire in order of time, then of creation; between two
 * timers every pending promise settles. A delay is not rounded, and zero is zero (Node itself
 * truncates delays to whole milliseconds and makes zero one).
 */
export class Clock {
  now = 0;
  #seq = 0;
  #timers = new Map();

  set(callback, delay, args, every) {
    const id = ++this.#seq;
    const wait = Number.isFinite(+delay) ? Math.max(0, +delay) : 0;
    this.#timers.set(id, { id, at: this.now + wait, callback, args, every: every ? wait : null });
    const clock = this;
    return { id, ref() { return this; }, unref() { return this; }, hasRef: () => true,
      refresh() { const t = clock.#timers.get(id); if (t) t.at = clock.now + wait; return this; },
      [Symbol.toPrimitive]: () => id };
  }

  clear(handle) {
    if (handle != null) this.#timers.delete(typeof handle === 'object' ? handle.id : +handle);
  }

  #next(limit) {
    let best = null;
    for (const t of this.#timers.values()) {
      if (t.at <= limit && (!best || t.at < best.at || (t.at === best.at && t.id < best.id))) best = t;
    }
    return best;
  }

  /** When the next timer is due, or null. */
  nextDue() {
    return this.#next(Infinity)?.at ?? null;
  }

  /** Runs every timer due at or before `time`, then stands at `time`. */
  async runTo(time) {
    await settle();
    for (let t = this.#next(time); t; t = this.#next(time)) {
      this.now = Math.max(this.now, t.at);
      if (t.every === null) this.#timers.delete(t.id);
      else t.at = this.now + t.every;
      t.callback(...t.args);
      await settle();
    }
    this.now = Math.max(this.now, time);
  }

  /** Resolves after `ms` of virtual time. */
  sleep(ms) {
    return new Promise(resolve => this.set(resolve, ms, [], false));
  }
}

/** Puts a fresh virtual clock in the place of Node's clocks and timers. */
export function installClock() {
  const clock = new Clock();
  const RealDate = globalThis.Date;
  class VirtualDate extends RealDate {
    constructor(...args) { args.length ? super(...args) : super(current.now + EPOCH); }
    static now() { return current.now + EPOCH; }
  }
  current = clock;
  globalThis.Date = VirtualDate;
  globalThis.setTimeout = (f, ms, ...args) => current.set(f, ms, args, false);
  globalThis.setInterval = (f, ms, ...args) => current.set(f, ms, args, true);
  globalThis.clearTimeout = globalThis.clearInterval = h => current.clear(h);
  performance.now = () => current.now;
  return clock;
}

/** What `Date.now()` says when the virtual clock stands at zero: far from the library's own zero. */
export const EPOCH = 1_700_000_000_000;
let current = null;

/** Starts again from zero: the timers of the last case are gone with the old clock. */
export function freshClock() {
  current = new Clock();
  return current;
}

/** Version of an installed package, from its package.json. */
export function versionOf(name) {
  const file = path.join(process.cwd(), 'node_modules', name, 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

/** JSON knows no infinities: they are written as strings. */
function plain(_key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value;
}

/**
 * Writes `{…head, cases: […]}`: the head on one line a key, a case on one line, and where a case
 * has `steps`, one line a step.
 */
export function write(file, head, cases) {
  const line = value => JSON.stringify(value, plain);
  const parts = Object.entries(head).map(([k, v]) => ` ${line(k)}: ${line(v)}`);
  const rows = cases.map(c => {
    if (!c.steps) return `  ${line(c)}`;
    const { steps, ...rest } = c;
    const open = line(rest).slice(0, -1);
    return `  ${open},"steps":[\n${steps.map(s => `   ${line(s)}`).join(',\n')}\n  ]}`;
  });
  parts.push(` "cases": [\n${rows.join(',\n')}\n ]`);
  writeFileSync(path.join(process.env.TRACES_OUT, file), `{\n${parts.join(',\n')}\n}\n`);
}
