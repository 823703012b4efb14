//! Expectations about deferred results.

use crate::analysis::deferred::DeferredSummary;
use crate::analysis::summary::Estimate;
use crate::scenario::model::ExpectedResults;

/// The measure an expectation speaks of: of one service, or of all.
///
/// # Errors
/// Why there is none.
pub(super) fn measured(
    summary: Option<&DeferredSummary>,
    service: Option<&str>,
    measure: ExpectedResults,
) -> Result<Estimate, &'static str> {
    let Some(summary) = summary else { return Err("no reply is deferred in this variant") };
    let found = match service {
        None => &summary.all,
        Some(name) => match summary.service(name) {
            Some(found) => found,
            None => return Err("no reply of this service is deferred"),
        },
    };
    Ok(match measure {
        ExpectedResults::Written => found.written,
        ExpectedResults::Done => found.done,
        ExpectedResults::Failed => found.failed,
        ExpectedResults::FalseSuccesses => found.false_successes,
        ExpectedResults::Misread => found.misread,
        ExpectedResults::Destroyed => found.destroyed,
        ExpectedResults::ByTimer => found.by_timer,
        ExpectedResults::MislabelledShare => found.mislabelled_share,
        ExpectedResults::FalseRunningMean => found.false_running_mean_s,
        ExpectedResults::FalseRunningMax => found.false_running_max_s,
    })
}
