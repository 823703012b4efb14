//! Ctrl-C and SIGTERM: the first asks for an end, the second one makes it.
//!
//! The first raises the flag that runs look at; what has finished is then written and marked as
//! incomplete. The second ends the process at once; files on disc are whole all the same, since
//! each is renamed into place.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;
use signal_hook::flag;

use crate::check::Exit;

/// The flag that runs look at, and who raised it.
#[derive(Debug, Default)]
pub(super) struct Interrupt {
    raised: Arc<AtomicBool>,
    terminated: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from here on. Where the system will not have it, signals keep their usual effect.
    pub(super) fn listen() -> Self {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM] {
            let exit = if signal == SIGTERM { Exit::Terminated } else { Exit::Interrupted };
            // In this order: the check for a second signal must come before the flag is raised.
            let _ = flag::register_conditional_shutdown(
                signal,
                exit.code().into(),
                Arc::clone(&interrupt.raised),
            )
            .and_then(|_| {
                let number = usize::from(exit.code());
                flag::register_usize(signal, Arc::clone(&interrupt.terminated), number)
            })
            .and_then(|_| flag::register(signal, Arc::clone(&interrupt.raised)));
        }
        interrupt
    }

    /// The flag.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.raised
    }

    /// The exit code of whoever raised it.
    pub(super) fn exit(&self) -> Exit {
        if self.terminated.load(Ordering::SeqCst) == usize::from(Exit::Terminated.code()) {
            Exit::Terminated
        } else {
            Exit::Interrupted
        }
    }
}
