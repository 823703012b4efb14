//! Mistakes in policies: `mistakes.txt` and `mistakes-too.txt` have each with the place where it is
//! found (`▸` stands before it), what is wrong there and what helps.

use stormlab::scenario;

use crate::lab;

const MISTAKES: [&str; 2] = [include_str!("mistakes.txt"), include_str!("mistakes-too.txt")];
/// The line of the policy, and what stands before it there.
const LINE: usize = 7;
const BEFORE: &str = "policies: { p: { ";

fn file(policy: &str) -> String {
    lab::scenario(&format!(
        "clients: {{ web: {{ arrivals: {{ constant: 1/s }}, calls: shop, policy: p }} }}\n\
         services: {{ shop: {{ workers: 1, work: 1s }} }}\n\
         {BEFORE}{policy} }} }}\n"
    ))
}

#[test]
fn each_mistake_in_a_policy_is_found_at_its_place_with_a_way_to_mend_it() {
    let mut count = 0;
    for entry in MISTAKES.iter().flat_map(|text| text.split("\n\n")) {
        let lines: Vec<_> = entry.trim_end().lines().collect();
        let [marked, problem, help] = lines.as_slice() else { panic!("three lines: {lines:?}") };
        let place = marked.find('▸').expect("the place is marked");
        let policy = marked.replace('▸', "");
        let Err(found) = scenario::parse("test.yaml", file(&policy).as_bytes()) else {
            panic!("nothing is found wrong with {policy}");
        };
        let found: Vec<_> = found
            .iter()
            .map(|it| {
                let help = it.help.as_deref().unwrap_or("");
                let texts = [format!("  problem: {}", it.problem), format!("  help: {help}")];
                ((it.line, it.column), texts)
            })
            .collect();
        let expected = ((LINE, BEFORE.len() + place + 1), [(*problem).into(), (*help).into()]);
        assert_eq!(found, [expected], "{policy}");
        count += 1;
    }
    assert!(count >= 190, "{count} mistakes");
}
