//! Texts that nobody writes by accident.

use proptest::prelude::*;
use stormlab::lint;
use stormlab::scenario;

use crate::scenario::EVERYTHING;
use crate::scenario::FAILOVER;
use crate::scenario::parse;
use crate::scenario::problems;
use crate::scenario::with;

#[test]
fn hostile_sizes_are_refused_quickly() {
    let many: String = (0..9_000).map(|i| format!("  v{i}: {{}}\n")).collect();
    let large = with("variants:\n", &format!("variants:\n{many}"));
    assert!(problems(&large)[0].contains("too large a scenario"), "{:?}", &problems(&large)[..1]);
    let chain: String = (0..9_000)
        .map(|i| {
            format!(
                "  s{i}: {{ workers: 1, work: 1ms, calls: [{{ to: s{} }}] }}\n",
                (i + 1) % 9_000
            )
        })
        .collect();
    let circle = format!(
        "schema: 1\nname: c\nclients: {{ c: {{ arrivals: {{ poisson: 1/s }}, calls: s0 }} }}\nservices:\n{chain}"
    );
    let found = problems(&circle);
    assert!(found.iter().any(|problem| problem.contains("in a circle")), "{found:?}");
    let unknown: String = (0..40_000).map(|i| format!("k{i}: 1\n")).collect();
    assert_eq!(problems(&unknown).len(), 100);
    assert_eq!(problems(&"a".repeat(2 << 20)), ["1:1 the file is larger than 1 MiB"]);
    let powers: String = (0..9)
        .map(|i| {
            format!(
                "  s{i}: {{ workers: 1, work: 1ms, calls: [{{ to: s{}, policy: p }}] }}\n",
                i + 1
            )
        })
        .collect();
    let product = format!(
        "schema: 1\nname: c\nclients: {{ c: {{ arrivals: {{ poisson: 1/s }}, calls: s0 }} }}\n\
         policies: {{ p: {{ retry: {{ max_attempts: 1000000 }} }} }}\nservices:\n{powers}  s9: {{ workers: 1, work: 1ms }}\n"
    );
    assert!(problems(&product)[0].contains("more than 2^64 attempts"), "{:?}", problems(&product));
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_place() {
    let mut bytes = FAILOVER.as_bytes().to_vec();
    bytes[20] = 0xff;
    let found = scenario::parse("x", &bytes).unwrap_err();
    assert_eq!(found[0].problem, "the file is not text in UTF-8");
    assert_eq!(found[0].line, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// No bytes make the reader panic or hang, and a refusal always names a place.
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(found) = scenario::parse("random", &bytes) {
            prop_assert!(!found.is_empty());
            prop_assert!(found.iter().all(|d| d.line >= 1 && d.column >= 1));
        }
    }

    /// Neither do small changes to a valid file, which get much further.
    #[test]
    fn mutated_scenarios_are_safe(
        everything in any::<bool>(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), 0usize..24, 0usize..40), 1..6)
    ) {
        const PIECES: [&str; 24] = [
            "", "\n", " ", ":", "- ", "{", "}", "[", "]", "\"", "'", "#", "&a ", "*a", "!x ", "| ",
            "> ", "null", "-1", "1e999", "999999999d", "unlimited", "\u{202e}", "ä",
        ];
        let mut text = if everything { EVERYTHING } else { FAILOVER }.to_owned();
        for (at, piece, cut) in edits {
            let mut start = at.index(text.len().max(1));
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) { end -= 1; }
            text.replace_range(start..end.max(start), PIECES[piece]);
        }
        match parse(&text) {
            Ok(scenario) => for variant in &scenario.variants {
                lint::explain(&scenario, &variant.name);
            },
            Err(found) => for problem in found {
                let hides = problem.to_string().contains('\u{202e}');
                prop_assert!(!hides);
            },
        }
    }
}
