//! Ejection and triggers on single replicas as written: what each text means, and what each mistake
//! is answered with.

use stormlab::policy::breaker::outlier::FailureShare;
use stormlab::policy::breaker::outlier::OutlierConfig;
use stormlab::policy::breaker::outlier::SuccessRate;
use stormlab::policy::ejection::EjectionConfig;
use stormlab::policy::ejection::EjectionKind;
use stormlab::policy::stack::CallerScope;
use stormlab::policy::stack::Scope;
use stormlab::policy::stack::TargetScope;
use stormlab::units::Duration;
use stormlab::units::Share;

use crate::scenario::effective::again;
use crate::scenario::hedges::file;
use crate::scenario::hedges::problem;
use crate::scenario::valid;

/// The file of a policy, whose server has ten replicas.
fn ten(policy: &str) -> String {
    file(policy).replace("workers: 1,", "workers: 1, replicas: 10,")
}

fn read(settings: &str) -> (EjectionConfig, Scope) {
    let scenario = valid(&ten(&format!("{{ ejection: {{ {settings} }} }}")));
    again(&scenario);
    let found = scenario.variants[0].model.policies[0].ejection.expect("an ejection");
    (found.config, found.per)
}

fn outlier(settings: &str) -> OutlierConfig {
    match read(&format!("outlier: {{ {settings} }}")).0.kind {
        EjectionKind::Outlier(config) => config,
        EjectionKind::Breaker(_) => panic!("no breaker is written"),
    }
}

#[test]
fn each_setting_of_an_outlier_means_what_it_says_and_means_it_again() {
    const ENVOY: OutlierConfig = OutlierConfig::ENVOY;
    let seconds = Duration::from_secs;
    assert_eq!(outlier(""), ENVOY);
    assert_eq!(outlier("consecutive: none"), OutlierConfig { consecutive: None, ..ENVOY });
    let all = outlier(
        "consecutive: 7, gateway_consecutive: 3, interval: 5s, base_ejection: 1s, \
         max_ejection: 1min, jitter: 2s, most_ejected: 100%, always_one: true, success_rate: none, \
         failure_share: { at_least: 50%, minimum_hosts: 2, volume: 10 }",
    );
    let rule = FailureShare { at_least: Share::percent(50), minimum_hosts: 2, volume: 10 };
    let expected = OutlierConfig {
        consecutive: Some(7),
        gateway_consecutive: Some(3),
        interval: seconds(5),
        base_ejection: seconds(1),
        max_ejection: seconds(60),
        jitter: seconds(2),
        most_ejected: Share::percent(100),
        always_one: true,
        success_rate: None,
        failure_share: Some(rule),
    };
    assert_eq!(all, expected);
    let rate = outlier("success_rate: { factor: 3 }").success_rate;
    assert_eq!(rate, Some(SuccessRate { factor: 3.0, ..SuccessRate::ENVOY }));
    assert_eq!(outlier("failure_share: {}").failure_share, Some(FailureShare::ENVOY));
    assert_eq!(outlier("base_ejection: 10min").max_ejection, seconds(600));
}

#[test]
fn panic_and_per_are_kept_and_a_breaker_of_each_replica_too() {
    let (config, per) = read("breaker: { consecutive: 7, open_for: 1s }");
    assert!(matches!(config.kind, EjectionKind::Breaker(_)));
    assert_eq!((config.panic, per), (Share::percent(50), Scope::DEFAULT));
    let (config, per) = read("breaker: { consecutive: 7, open_for: 1s }, panic: 0%, per: [target]");
    assert_eq!(config.panic, Share::ZERO);
    assert_eq!(per, Scope { caller: CallerScope::All, target: TargetScope::Target });
}

#[test]
fn each_mistake_of_ejection_has_its_place_and_a_help() {
    #[track_caller]
    fn check(policy: &str, message: &str, help: &str) {
        let (at, found, advice) = problem(&ten(&policy.replace('^', "")));
        let column = policy.find('^').map_or(0, |place| place + 6);
        assert_eq!(at, format!("7:{column}"), "{found}");
        assert!(found.contains(message), "{message:?}: {found}");
        assert!(advice.contains(help), "{help:?}: {advice}");
    }
    check("{ ^ejection: {} }", "`outlier` or `breaker`", "consecutive: 5");
    check(
        "{ ejection: { outlier: { ^consecutiv: 5 } } }",
        "has no key `consecutiv`",
        "consecutive",
    );
    check("{ ejection: { outlier: { consecutive: ^0 } } }", "0 is out of range", "1 to");
    check("{ ejection: { outlier: { interval: ^0s } } }", "longer than 0s", "1ns");
    check(
        "{ ejection: { outlier: { base_ejection: 1min, max_ejection: ^30s } } }",
        "the longest ejection is 30s, and the first lasts 1min",
        "at least 1min",
    );
    check("{ ejection: { outlier: { most_ejected: ^0% } } }", "ever be left out", "always_one");
    check(
        "{ ejection: { ^outlier: { consecutive: none, success_rate: none } } }",
        "without any rule",
        "set `consecutive`",
    );
    check("{ ejection: { outlier: {}, per: ^[caller] } }", "names no `target`", "[group, target]");
    check(
        "{ ejection: { breaker: { consecutive: 5, open_for: 1s, per: ^[target] } } }",
        "whose they are is said beside it",
        "under `ejection`",
    );
    check(
        "{ ^ejection: { outlier: {} }, inner: q }\n  q: {}",
        "`ejection` decides where attempts go",
        "in the inner policy",
    );
}

#[test]
fn a_trigger_strikes_some_replicas_and_says_so_again() {
    let text = |replicas: &str, effect: &str| {
        ten("{}")
            + &format!(
                "triggers: [{{ at: 10min, lasts: 1min, service: server, effect: {effect}, \
                 replicas: {replicas} }}]\n"
            )
    };
    for effect in ["refuse", "hang", "{ slow: 4 }", "{ errors: { class: internal, share: 30% } }"] {
        let scenario = valid(&text("3", effect));
        again(&scenario);
        assert_eq!(scenario.variants[0].model.triggers[0].replicas, Some(3));
        let all = valid(&text("10", effect));
        assert_eq!(all.variants[0].model.triggers[0].replicas, None, "ten of ten are all");
    }
    let check = |replicas: &str, effect: &str, message: &str, help: &str| {
        let (_, found, advice) = problem(&text(replicas, effect));
        assert!(found.contains(message), "{message:?}: {found}");
        assert!(advice.contains(help), "{help:?}: {advice}");
    };
    check("11", "refuse", "`server` has 10 replicas", "accepted are 1 to 10");
    check("0", "refuse", "0 is out of range", "1 to");
    check("1", "restart", "does not strike single replicas", "leave it out");
    check("1", "{ workers: 50% }", "does not strike single replicas", "leave it out");
}
