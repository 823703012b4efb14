//! Deferred replies as they are written: mistakes have a place and a help, and so have doubts.

use stormlab::scenario;

use crate::lab;

fn text(reply: &str, policy: &str) -> String {
    lab::scenario(&format!(
        "clients: {{ web: {{ arrivals: {{ poisson: 10/s }}, calls: shop, policy: p, reply: {reply} }} }}
policies: {{ p: {policy} }}
services: {{ shop: {{ workers: 9, work: 1s }} }}
"
    ))
}

const TIMER: &str = "{ attempt_timeout: 9s }";

#[test]
fn each_mistake_is_told_with_a_help() {
    for (reply, problem, help) in [
        ("later", "`reply`", "deferred"),
        ("{ deferred: { read: plain } }", "nothing tells the caller", "poll: 30s"),
        ("{ deferred: { poll: 1s, read: twice } }", "twice", "destructive"),
        ("{ deferred: { poll: 1s, consumer: typd } }", "typd", "typed"),
        ("{ deferred: { poll: 0s } }", "0s", ""),
        (
            "{ deferred: { poll: 1s, read_errors: { share: 1%, value: taken } } }",
            "a plain read takes nothing away",
            "destructive",
        ),
        (
            "{ deferred: { poll: 1s, malformed: { unreadable: 60%, empty: 60% } } }",
            "more than all replies",
            "100 %",
        ),
        ("{ deferred: { poll: 1s, malformed: { garbled: 1% } } }", "garbled", "unreadable"),
    ] {
        let text = text(reply, TIMER);
        let problems = scenario::parse("t", text.as_bytes()).expect_err(reply);
        let first = &problems[0];
        assert!(first.problem.contains(problem), "{reply}: {}", first.problem);
        let said = first.help.as_deref().unwrap_or_default();
        assert!(said.contains(help), "{reply}: {said}");
        assert_eq!(first.line, 5, "{reply}");
    }
}

/// [D16] A policy that retries failures which its consumer never hears: the class is lost on the way.
#[test]
fn a_class_lost_on_the_way_is_doubted() {
    let doubts = |reply: &str, policy: &str| -> Vec<String> {
        let text = text(reply, policy);
        let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
        doubts.into_iter().map(|doubt| doubt.problem).collect()
    };
    let retry = "{ attempt_timeout: 9s, retry: { on: [internal, protocol] } }";
    let transient = "{ attempt_timeout: 9s, retry: {} }";
    for (reply, policy, expected) in [
        ("{ deferred: { poll: 1s } }", TIMER, None),
        ("{ deferred: { poll: 1s } }", "{}", Some("for ever")),
        ("{ deferred: { poll: 1s } }", retry, None),
        ("{ deferred: { poll: 1s, consumer: wrapped } }", retry, Some("lost on the way")),
        ("{ deferred: { poll: 1s, consumer: naive } }", transient, None),
        ("{ deferred: { poll: 1s, retryable: unknown } }", transient, Some("as `internal`")),
        ("{ deferred: { poll: 1s, retryable: unknown } }", retry, None),
    ] {
        let found = doubts(reply, policy);
        match expected {
            None => assert_eq!(found, [""; 0], "{reply} {policy}"),
            Some(words) => {
                assert!(
                    found.len() == 1 && found[0].contains(words),
                    "{reply} {policy}: {found:?}"
                );
            }
        }
    }
}
