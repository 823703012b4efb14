//! `ejection` as written: which replicas a caller leaves out.

use crate::policy::breaker::outlier::FailureShare;
use crate::policy::breaker::outlier::OutlierConfig;
use crate::policy::breaker::outlier::SuccessRate;
use crate::policy::ejection::EjectionConfig;
use crate::policy::ejection::EjectionKind;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::policy::stack::TargetScope;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::breakers::read_breaker;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Share;

/// The most standard deviations below the mean.
const MOST_DEVIATIONS: f64 = 1_000.0;

/// `node` stands in the policy `policy`.
pub(super) fn read_ejection(
    node: &Node,
    policy: &Node,
    problems: &mut Problems,
) -> Option<Scoped<EjectionConfig>> {
    let mut fields = Fields::open(node, "`ejection`", problems)?;
    let kind = match fields.choose(&["outlier", "breaker"], problems) {
        Some(("outlier", node)) => read_outlier(node, problems).map(EjectionKind::Outlier),
        Some((_, node)) => read_breakers(node, problems),
        None => None,
    };
    let panic = fields.get("panic", problems, reader::share);
    let per = fields.get("per", problems, |node, problems| {
        let per = read_per(node, problems)?;
        if per.target == TargetScope::All {
            problems.push_with(
                node.place,
                "replicas are those of one service, and this `per` names no `target`",
                "write `[caller, target]`, `[group, target]` or `[target]`",
            );
        }
        Some(per)
    });
    if policy.get("inner").is_some_and(|inner| !inner.is_null()) {
        problems.push_with(
            fields.head(),
            "`ejection` decides where attempts go, and those of this policy are calls under the \
             one it names as `inner`",
            "set `ejection` in the inner policy",
        );
    }
    fields.close(problems);
    let config = EjectionConfig {
        kind: kind?,
        panic: panic.map_or(EjectionConfig::PANIC, |panic| panic.value),
    };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// A breaker for each replica.
fn read_breakers(node: &Node, problems: &mut Problems) -> Option<EjectionKind> {
    let breaker = read_breaker(node, problems)?.config;
    if let Some(per) = node.get("per") {
        problems.push_with(
            per.place,
            "this breaker is one of each replica, and whose they are is said beside it",
            "write `per` under `ejection`",
        );
    }
    if breaker.makes_wait() {
        problems.push_with(
            node.get("half_open").map_or(node.head, |half| half.head),
            "nobody waits for the probe of a replica: attempts go to another one",
            "set `others: refused` in `half_open`, or leave it out",
        );
    }
    Some(EjectionKind::Breaker(breaker))
}

fn read_outlier(node: &Node, problems: &mut Problems) -> Option<OutlierConfig> {
    const ENVOY: OutlierConfig = OutlierConfig::ENVOY;
    let mut fields = Fields::open(node, "`outlier`", problems)?;
    let row = |node: &Node, problems: &mut Problems| {
        or_none(node, problems, reader::count(1, MOST_CALLS))
    };
    let consecutive = fields.get("consecutive", problems, row);
    let gateway = fields.get("gateway_consecutive", problems, row);
    let interval = fields.get("interval", problems, reader::positive_span);
    let base = fields.get("base_ejection", problems, reader::positive_span);
    let longest = fields.get("max_ejection", problems, reader::positive_span);
    let jitter = fields.get("jitter", problems, reader::span);
    let most = fields.get("most_ejected", problems, reader::share);
    let always_one = fields.get("always_one", problems, reader::switch);
    let success_rate =
        fields.get("success_rate", problems, |n, p| or_none(n, p, read_success_rate));
    let failure_share =
        fields.get("failure_share", problems, |n, p| or_none(n, p, read_failure_share));
    let head = fields.head();
    fields.close(problems);
    let base_ejection = base.map_or(ENVOY.base_ejection, |base| base.value);
    if let Some(longest) = longest
        && longest.value < base_ejection
    {
        problems.push_with(
            longest.place,
            format!(
                "the longest ejection is {}, and the first lasts {base_ejection}",
                longest.value
            ),
            format!("set `max_ejection` to at least {base_ejection}"),
        );
    }
    let config = OutlierConfig {
        consecutive: consecutive.map_or(ENVOY.consecutive, |it| it.value),
        gateway_consecutive: gateway.map_or(ENVOY.gateway_consecutive, |it| it.value),
        interval: interval.map_or(ENVOY.interval, |it| it.value),
        base_ejection,
        max_ejection: longest
            .map_or(OutlierConfig::MAX_EJECTION.max(base_ejection), |longest| longest.value),
        jitter: jitter.map_or(ENVOY.jitter, |it| it.value),
        most_ejected: most.map_or(ENVOY.most_ejected, |it| it.value),
        always_one: always_one.map_or(ENVOY.always_one, |it| it.value),
        success_rate: success_rate.map_or(ENVOY.success_rate, |it| it.value),
        failure_share: failure_share.map_or(ENVOY.failure_share, |it| it.value),
    };
    if !config.has_rule() {
        problems.push_with(
            head,
            "an `outlier` without any rule never leaves a replica out",
            "set `consecutive`, `gateway_consecutive`, `success_rate` or `failure_share`",
        );
    }
    if config.most_ejected == Share::ZERO && !config.always_one {
        problems.push_with(
            most.map_or(head, |most| most.place),
            "no replica may ever be left out",
            "set a larger `most_ejected`, or `always_one: true`, or leave out `ejection`",
        );
    }
    Some(config)
}

/// A rule, or `none`.
fn or_none<T>(
    node: &Node,
    problems: &mut Problems,
    read: impl FnOnce(&Node, &mut Problems) -> Option<T>,
) -> Option<Option<T>> {
    match &node.value {
        Value::Scalar { text, .. } if text == "none" => Some(None),
        _ => read(node, problems).map(Some),
    }
}

fn read_success_rate(node: &Node, problems: &mut Problems) -> Option<SuccessRate> {
    const ENVOY: SuccessRate = SuccessRate::ENVOY;
    let mut fields = Fields::open(node, "`success_rate`", problems)?;
    let hosts = fields.get("minimum_hosts", problems, reader::count(1, MOST_CALLS));
    let volume = fields.get("volume", problems, reader::count(1, MOST_CALLS));
    let factor = fields.get("factor", problems, reader::real(0.0..=MOST_DEVIATIONS));
    fields.close(problems);
    Some(SuccessRate {
        minimum_hosts: hosts.map_or(ENVOY.minimum_hosts, |it| it.value),
        volume: volume.map_or(ENVOY.volume, |it| it.value),
        factor: factor.map_or(ENVOY.factor, |it| it.value),
    })
}

fn read_failure_share(node: &Node, problems: &mut Problems) -> Option<FailureShare> {
    const ENVOY: FailureShare = FailureShare::ENVOY;
    let mut fields = Fields::open(node, "`failure_share`", problems)?;
    let at_least = fields.get("at_least", problems, reader::share);
    let hosts = fields.get("minimum_hosts", problems, reader::count(1, MOST_CALLS));
    let volume = fields.get("volume", problems, reader::count(1, MOST_CALLS));
    fields.close(problems);
    Some(FailureShare {
        at_least: at_least.map_or(ENVOY.at_least, |it| it.value),
        minimum_hosts: hosts.map_or(ENVOY.minimum_hosts, |it| it.value),
        volume: volume.map_or(ENVOY.volume, |it| it.value),
    })
}
