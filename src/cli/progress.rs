//! How far the work is: a bar on a terminal, a line now and then elsewhere, or silence.

use std::io;
use std::io::IsTerminal;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use indicatif::ProgressBar;
use indicatif::ProgressDrawTarget;
use indicatif::ProgressStyle;

use crate::experiment::Progress;
use crate::report::number::count;
use crate::report::number::number;

/// Lines about one piece of work where there is no terminal to draw a bar on.
const LINES: u64 = 10;

/// Shows how the work goes on, on standard error.
pub(super) struct Shown {
    kind: Kind,
    planned: AtomicU64,
    done: AtomicU64,
    events: AtomicU64,
}

enum Kind {
    Bar(ProgressBar),
    Lines,
    Silent,
}

impl Shown {
    /// A bar or lines, or nothing when `quiet`.
    pub(super) fn new(quiet: bool) -> Self {
        let kind = if quiet {
            Kind::Silent
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            let template = "{msg} {wide_bar} {pos}/{len} runs, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            Kind::Bar(bar)
        } else {
            Kind::Lines
        };
        let zero = || AtomicU64::new(0);
        Self { kind, planned: zero(), done: zero(), events: zero() }
    }

    /// Are all runs done?
    pub(super) fn all_done(&self) -> bool {
        let planned = self.planned.load(Ordering::SeqCst);
        planned > 0 && self.done.load(Ordering::SeqCst) >= planned
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Shown {
    fn planned(&self, runs: u64) {
        self.planned.store(runs, Ordering::SeqCst);
        if let Kind::Bar(bar) = &self.kind {
            bar.set_length(runs);
        }
    }

    fn finished(&self, events: u64) {
        let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        let events = self.events.fetch_add(events, Ordering::Relaxed) + events;
        let planned = self.planned.load(Ordering::Relaxed).max(1);
        match &self.kind {
            Kind::Bar(bar) => bar.set_position(done),
            Kind::Lines if done * LINES / planned > (done - 1) * LINES / planned => {
                let (done, planned) = (count(done), count(planned));
                let events = number(events as f64);
                let _ = writeln!(io::stderr(), "{done} of {planned} runs, {events} events");
            }
            Kind::Lines | Kind::Silent => {}
        }
    }

    fn variant(&self, name: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.set_message(name.to_owned()),
            Kind::Lines => {
                let _ = writeln!(io::stderr(), "running {name}");
            }
            Kind::Silent => {}
        }
    }
}
