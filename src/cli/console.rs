//! Standard output and standard error, and what becomes of them when somebody hangs up.

use std::io;
use std::io::IsTerminal;
use std::io::Write;

use crate::check::Exit;

/// Lines where no terminal says how long they may be.
const WIDTH_WITHOUT_TERMINAL: usize = 100;

/// The two streams. After the first error nothing more goes to standard output.
#[derive(Debug, Default)]
pub(super) struct Console {
    failed: Option<io::Error>,
}

impl Console {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Words or results, to standard output; colours are stripped where they do not belong.
    pub(super) fn say(&mut self, text: &str) {
        if self.failed.is_none() {
            let mut out = anstream::stdout().lock();
            self.failed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).err();
        }
    }

    /// A line to standard error. Nobody can be told that it failed.
    pub(super) fn note(&self, line: &str) {
        let _ = writeln!(anstream::stderr().lock(), "{line}");
    }

    /// How many letters a line may have.
    pub(super) fn width(&self) -> usize {
        if !io::stdout().is_terminal() {
            return WIDTH_WITHOUT_TERMINAL;
        }
        terminal_size::terminal_size()
            .map_or(WIDTH_WITHOUT_TERMINAL, |(terminal_size::Width(width), _)| width.into())
    }

    /// The exit code, all considered: a reader that hung up is no error, a full disc is one.
    pub(super) fn close(self, exit: Exit) -> Exit {
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let _ =
                    writeln!(io::stderr(), "error: could not write to standard output: {error}");
                exit.worst(Exit::Output)
            }
            _ => exit,
        }
    }
}
