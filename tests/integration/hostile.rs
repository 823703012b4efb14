//! Scenarios that a hostile user found a way with, and what they are told now.

/// The clock of a run ends at 73 years; no run may come near it, however it is composed.
#[test]
fn a_run_longer_than_the_clock_is_refused() {
    for run in
        ["horizon: 18251d, window: 1d, warm_up: 0s", "horizon: 10000d, window: 1d, warm_up: 10000d"]
    {
        let text = format!(
            "schema: 1\nname: t\nrun: {{ {run} }}\nclients: {{ web: {{ arrivals: {{ poisson: 1/d }}, calls: s }} }}\nservices: {{ s: {{ workers: 1, work: 1ms }} }}\n"
        );
        let problems = stormlab::scenario::parse("t.yaml", text.as_bytes()).unwrap_err();
        assert!(problems.iter().any(|p| p.problem.contains("too long")), "{problems:?}");
    }
}

/// Variants are compared run by run, so none may fall back to other seeds or numbers of runs.
#[test]
fn a_variant_cannot_remove_the_run_settings() {
    let text = "schema: 1\nname: t\nrun: { seed: 7, replications: 3 }\nclients: { web: { arrivals: { poisson: 1/s }, calls: s } }\nservices: { s: { workers: 1, work: 1ms } }\nvariants: { v: { run: null } }\n";
    let problems = stormlab::scenario::parse("t.yaml", text.as_bytes()).unwrap_err();
    assert!(problems.iter().any(|p| p.problem.contains("cannot remove `run`")), "{problems:?}");
}
