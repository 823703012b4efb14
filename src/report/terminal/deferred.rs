//! The sentence about deferred results.

use crate::report::View;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;

/// What became of deferred results, where there are any.
pub(super) fn results(view: &View<'_>) -> Option<String> {
    let found = &view.summary.deferred.as_ref()?.all;
    let (written, by_timer) = (found.written.estimate?, found.by_timer.estimate?);
    let mut text = format!(
        "Of {} results in a run, {} waits were ended by the caller's timer",
        number(written),
        number(by_timer)
    );
    for (count, what) in [
        (found.destroyed, "read away and not understood"),
        (found.false_successes, "taken for successes that they are not"),
    ] {
        if let Some(count) = count.estimate.filter(|count| *count > 0.0) {
            text += &format!(", {} were {what}", number(count));
        }
    }
    if let Some(longest) = found.false_running_max_s.estimate {
        text +=
            &format!("; a job that was over was shown as running for up to {}", seconds(longest));
    }
    if let Some(share) = found.mislabelled_share.estimate.filter(|share| *share > 0.0) {
        text += &format!("; {} of the recorded outcomes are not the true ones", percent(share));
    }
    Some(text + ".")
}
