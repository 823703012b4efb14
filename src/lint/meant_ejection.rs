//! The ejection of replicas as meant, as text.

use crate::lint::meant::Lines;
use crate::lint::meant_breaker::breaker_settings;
use crate::policy::breaker::outlier::FailureShare;
use crate::policy::breaker::outlier::OutlierConfig;
use crate::policy::breaker::outlier::SuccessRate;
use crate::policy::ejection::EjectionConfig;
use crate::policy::ejection::EjectionKind;
use crate::policy::stack::Scoped;

pub(super) fn ejection(out: &mut Lines, it: &Scoped<EjectionConfig>) {
    out.open(2, "ejection");
    match &it.config.kind {
        EjectionKind::Outlier(config) => outlier(out, config),
        EjectionKind::Breaker(config) => {
            out.open(3, "breaker");
            breaker_settings(out, 4, config);
        }
    }
    out.put_or(3, "panic", (it.config.panic, EjectionConfig::PANIC), it.config.panic);
    out.put(3, "per", it.per);
}

fn outlier(out: &mut Lines, it: &OutlierConfig) {
    const ENVOY: OutlierConfig = OutlierConfig::ENVOY;
    out.open(3, "outlier");
    let row = |row: Option<u32>| row.map_or("none".to_owned(), |row| row.to_string());
    out.put_or(4, "consecutive", (it.consecutive, ENVOY.consecutive), row(it.consecutive));
    let gateway = it.gateway_consecutive;
    out.put_or(4, "gateway_consecutive", (gateway, ENVOY.gateway_consecutive), row(gateway));
    out.put_or(4, "interval", (it.interval, ENVOY.interval), it.interval);
    out.put_or(4, "base_ejection", (it.base_ejection, ENVOY.base_ejection), it.base_ejection);
    let longest = OutlierConfig::MAX_EJECTION.max(it.base_ejection);
    out.put_or(4, "max_ejection", (it.max_ejection, longest), it.max_ejection);
    out.put_or(4, "jitter", (it.jitter, ENVOY.jitter), it.jitter);
    out.put_or(4, "most_ejected", (it.most_ejected, ENVOY.most_ejected), it.most_ejected);
    out.put_or(4, "always_one", (it.always_one, ENVOY.always_one), it.always_one);
    let rate = it.success_rate.map_or("none".to_owned(), |rule| {
        let SuccessRate { minimum_hosts, volume, factor } = rule;
        format!("{{ minimum_hosts: {minimum_hosts}, volume: {volume}, factor: {factor} }}")
    });
    out.put_or(4, "success_rate", (it.success_rate, ENVOY.success_rate), rate);
    let share = it.failure_share.map_or("none".to_owned(), |rule| {
        let FailureShare { at_least, minimum_hosts, volume } = rule;
        format!("{{ at_least: {at_least}, minimum_hosts: {minimum_hosts}, volume: {volume} }}")
    });
    out.put_or(4, "failure_share", (it.failure_share, ENVOY.failure_share), share);
}
