//! Ctrl-C, SIGTERM and a terminal that hangs up: the first asks for an end, the second makes it.
//!
//! The first raises the flag that runs look at; what has finished is then written and marked as
//! incomplete. The second ends the process at once; results on disc are whole all the same, since
//! they get their names when all of them are there.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use signal_hook::consts::SIGHUP;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;
use signal_hook::flag;

use crate::check::Exit;

/// The signals, and how the program ends on them.
const SIGNALS: [(i32, Exit); 3] =
    [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated), (SIGHUP, Exit::HungUp)];

/// The flag that runs look at, and who raised it.
#[derive(Debug, Default)]
pub(super) struct Interrupt {
    raised: Arc<AtomicBool>,
    by: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from here on. Where the system will not have it, signals keep their usual effect.
    pub(super) fn listen() -> Self {
        let interrupt = Self::default();
        for (signal, exit) in SIGNALS {
            if signal == SIGHUP && !minds_hanging_up() {
                continue;
            }
            // In this order: the check for a second signal must come before the flag is raised.
            let _ = flag::register_conditional_shutdown(
                signal,
                exit.code().into(),
                Arc::clone(&interrupt.raised),
            )
            .and_then(|_| {
                let number = usize::from(exit.code());
                flag::register_usize(signal, Arc::clone(&interrupt.by), number)
            })
            .and_then(|_| flag::register(signal, Arc::clone(&interrupt.raised)));
        }
        interrupt
    }

    /// The flag.
    pub(super) fn shared_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.raised)
    }

    /// Has somebody asked for an end?
    pub(super) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// The exit code of whoever raised it.
    pub(super) fn exit(&self) -> Exit {
        let by = self.by.load(Ordering::SeqCst);
        let found = SIGNALS.iter().find(|(_, exit)| usize::from(exit.code()) == by);
        found.map_or(Exit::Interrupted, |(_, exit)| *exit)
    }
}

/// Under `nohup` a terminal that hangs up is to be ignored, and listening would undo that. Where
/// nobody can say whether it is, the signal keeps its usual effect.
fn minds_hanging_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) == 0)
}
