//! The services in the order in which a request meets them.
//!
//! Charts and tables follow the road of a request from its client inwards, and the far end of the
//! road is where amplification is worst: that service gives a scenario its headline.

use crate::scenario::model::Caller;
use crate::scenario::model::Model;
use crate::scenario::model::Service;
use crate::scenario::model::ServiceId;

/// Hops from the clients to each service along the longest way; `None` where no way leads.
fn depths(model: &Model) -> Vec<Option<usize>> {
    let mut depths = vec![None; model.services.len()];
    // A road without cycles is no longer than it has services; the bound also ends on cycles.
    for _ in 0..model.services.len() {
        for edge in &model.edges {
            let from = match edge.caller {
                Caller::Population(_) => Some(0),
                Caller::Service(service) => depths[service].map(|depth: usize| depth + 1),
            };
            depths[edge.target] = depths[edge.target].max(from);
        }
    }
    depths
}

/// Every service, nearest to the clients first; those that no request reaches come last.
pub(super) fn order(model: &Model) -> Vec<ServiceId> {
    let depths = depths(model);
    let mut order: Vec<_> = (0..model.services.len()).collect();
    order.sort_by_key(|&service| (depths[service].is_none(), depths[service], service));
    order
}

/// The service at the far end of the road; of several, the one named last. `None` without services.
pub(super) fn deepest(model: &Model) -> Option<ServiceId> {
    let depths = depths(model);
    (0..model.services.len()).max_by_key(|&service| (depths[service], service))
}

/// The most attempts per second a service can complete when nothing is wrong: workers ÷ mean work.
/// `None` where its work takes no time.
pub(super) fn capacity_rps(service: &Service) -> Option<f64> {
    let mean = service.work.mean().as_secs_f64();
    let workers = f64::from(service.replicas) * f64::from(service.workers);
    (mean > 0.0).then(|| workers / mean)
}
