//! Reads the recordings.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stormlab::units::Draw;
use stormlab::units::Duration;

/// The recording at `path` below `tests/traces`.
pub(super) fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The cases of a recording; there is at least one.
pub(super) fn cases(path: &str) -> Vec<Value> {
    let cases = read(path)["cases"].as_array().cloned().unwrap_or_default();
    assert!(!cases.is_empty(), "{path} has no cases");
    cases
}

/// A number, `"Infinity"` and `"NaN"` included.
#[track_caller]
pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) if text == "Infinity" => f64::INFINITY,
        Value::String(text) if text == "NaN" => f64::NAN,
        other => other.as_f64().unwrap_or_else(|| panic!("{other} is no number")),
    }
}

/// A list of numbers.
#[track_caller]
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(number).collect()
}

/// A recorded uniform number as a draw.
#[track_caller]
pub(super) fn draw(value: f64) -> Draw {
    Draw::new(value).unwrap_or_else(|| panic!("{value} is no draw"))
}

/// Milliseconds, to the nearest nanosecond.
pub(super) fn millis(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}

/// Are two spans equal but for `tolerance_ns` nanoseconds or the last digits of a floating number?
pub(super) fn agree(ours: Duration, theirs: Duration, tolerance_ns: u64) -> bool {
    let apart = ours.as_nanos().abs_diff(theirs.as_nanos());
    apart <= tolerance_ns.max(theirs.as_nanos() / 1_000_000_000_000)
}
