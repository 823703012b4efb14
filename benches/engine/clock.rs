//! What a piece of work costs: CPU time and memory, as the kernel of Linux counts them.
//!
//! CPU time rather than time on the wall, for machines are shared and their neighbours are noisy.
//! Elsewhere than on Linux there are no such files, and the bench says so instead of guessing.

use std::fs;

/// Nanoseconds that this thread has been on a processor.
pub(crate) fn thread_ns() -> u64 {
    first_number("/proc/thread-self/schedstat")
}

/// Nanoseconds that all threads of this process, those over included, have been on a processor;
/// counted in ticks of 10 ms.
pub(crate) fn process_ns() -> u64 {
    let stat = read("/proc/self/stat");
    // The name of the program comes before the last bracket and may hold anything.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = |nth: usize| after.split_whitespace().nth(nth).and_then(|n| n.parse::<u64>().ok());
    let (user, system) = (ticks(11), ticks(12));
    user.zip(system).map_or(0, |(user, system)| (user + system) * 10_000_000)
}

/// The most memory this process has had resident, in bytes.
pub(crate) fn peak_bytes() -> u64 {
    let status = read("/proc/self/status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}

/// Are there such counts here?
pub(crate) fn is_there() -> bool {
    process_ns() > 0 || thread_ns() > 0 && peak_bytes() > 0
}

fn first_number(path: &str) -> u64 {
    read(path).split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
