//! Arguments in, exit code out.

use std::process::ExitCode;

use stormlab::check::Exit;
use stormlab::cli;

fn main() -> ExitCode {
    let result = std::panic::catch_unwind(|| cli::main(std::env::args_os()));
    let exit = result.unwrap_or_else(|_| {
        let version = env!("CARGO_PKG_VERSION");
        eprintln!(
            "\nThis is a bug in stormlab {version}, not in your scenario; results of this run \
             were not written.\nPlease report it with the lines above, the command and the \
             scenario file."
        );
        Exit::Bug
    });
    exit.into()
}
