//! cockatiel's bulkhead, step by step.

use std::collections::VecDeque;

use serde_json::Value;
use stormlab::policy::limiter::Bulkhead;
use stormlab::policy::limiter::BulkheadConfig;
use stormlab::policy::limiter::Entry;

use crate::conformance::trace;

fn count(value: &Value) -> u32 {
    value.as_u64().and_then(|n| n.try_into().ok()).unwrap_or_else(|| panic!("{value} is no count"))
}

/// Verdicts, counts after each arrival, and the order in which who waited begins. (The recording
/// notes counts a few promise turns late after an end; who begins, and when, is exact.)
#[test]
fn cockatiel_bulkhead_step_by_step() {
    let mut steps_seen = 0;
    for case in trace::cases("cockatiel/bulkhead.json") {
        let name = &case["name"];
        let config = BulkheadConfig::new(count(&case["limit"]), count(&case["queue"]));
        let (mut bulkhead, mut line) = (Bulkhead::default(), VecDeque::new());
        let (mut begun, mut began) = (Vec::new(), Vec::new());
        for step in case["steps"].as_array().expect("steps") {
            steps_seen += 1;
            let (at, id) = (trace::number(&step["at_ms"]), count(&step["id"]));
            match step["event"].as_str() {
                Some("call") => {
                    let verdict = match bulkhead.enter(&config) {
                        Entry::Admitted => {
                            begun.push((at, id));
                            "run"
                        }
                        Entry::Queued => {
                            line.push_back(id);
                            "queued"
                        }
                        Entry::Rejected => "rejected",
                    };
                    assert_eq!(step["verdict"], verdict, "{name}: {step}");
                    let counts = (count(&step["running"]), count(&step["queued"]));
                    assert_eq!((bulkhead.inside(), bulkhead.waiting()), counts, "{name}: {step}");
                }
                Some("end") => {
                    if bulkhead.leave(&config) {
                        begun.push((at, line.pop_front().expect("somebody waits")));
                    }
                }
                Some("start") => began.push((at, id)),
                other => panic!("{name}: {other:?}"),
            }
        }
        // At one moment the recording may note a start before the end that made room for it.
        assert_eq!(begun, began, "{name}");
        assert!(line.is_empty() && bulkhead.inside() == 0, "{name}");
    }
    assert!(steps_seen > 200, "{steps_seen}");
}
