//! Arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use stormlab::check::Exit;
use stormlab::cli;

fn main() -> ExitCode {
    let result = std::panic::catch_unwind(|| cli::main(std::env::args_os()));
    let exit = result.unwrap_or_else(|_| {
        let version = env!("CARGO_PKG_VERSION");
        // Not `eprintln`, which would panic again where nobody listens.
        let _ = writeln!(
            std::io::stderr(),
            "\nThis is a bug in stormlab {version}, not in your scenario. Please report it with \
             the lines above, the command and the scenario file."
        );
        Exit::Bug
    });
    exit.into()
}
