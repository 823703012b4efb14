//! The schedule of one policy: its layers as a tree, its waits, a chart, what it does in an outage.

use crate::experiment::outage::Cost;
use crate::experiment::outage::RATE;
use crate::lint::Attempts;
use crate::lint::End;
use crate::lint::Outage;
use crate::lint::Schedule;
use crate::lint::Sent;
use crate::lint::Wait;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::report::policies::Outages;
use crate::report::policies::guards;
use crate::report::policies::words;
use crate::units::Duration;

/// Columns of the chart.
const CHART: usize = 48;
/// From this ratio of the longest window to the shortest on, the chart's axis is logarithmic.
const WIDE: f64 = 100.0;
/// Attempts of an outage that are listed.
const LISTED: usize = 6;

/// Everything about one policy.
pub fn schedule_text(policy: &Policy, schedule: &Schedule, costs: &Outages) -> String {
    let mut out = String::from("A call, outermost layer first\n");
    tree(policy, schedule, &mut out);
    if !schedule.attempt_tree.is_empty() {
        out += "\nAttempts of one call, from the outside in\n";
        out.extend(schedule.attempt_tree.iter().map(|line| format!("  {line}\n")));
    }
    if schedule.waits.iter().any(|wait| !wait.wait.largest.is_zero()) {
        out += "\nWaits\n";
        table(schedule, &mut out);
        out += "\n";
        chart(&schedule.waits, &mut out);
    } else if !schedule.waits.is_empty() {
        out += "\nWaits: none, every retry follows at once\n";
    }
    out += "\nA service that refuses at once\n";
    outage(&schedule.refusing, &costs.refusing, &mut out);
    out += "\nA service that hangs\n";
    outage(&schedule.hanging, &costs.hanging, &mut out);
    out
}

/// The layers, each inside the one before, and the attempts inside the last.
fn tree(policy: &Policy, schedule: &Schedule, out: &mut String) {
    let outside = policy.layers_outside_retry().len();
    let retries = policy.retry.is_some();
    for (depth, layer) in policy.order.iter().enumerate() {
        let sees = match (retries, depth) {
            (true, depth) if depth < outside => ", sees calls",
            (true, depth) if depth > outside => ", sees attempts",
            _ => "",
        };
        branch(out, depth, "└", &format!("{}{sees}", layer_words(policy, *layer)));
        if *layer == Layer::Retry
            && let Some(budget) = policy.retry.as_ref().and_then(|retry| retry.budget)
        {
            let words = guards::budget(&budget.config);
            branch(out, depth + 1, "├", &format!("budget per {}: {words}", budget.per));
        }
    }
    let times = match schedule.attempts {
        Attempts::AtMost(1) => "1 attempt".to_owned(),
        Attempts::AtMost(n) => format!("up to {n} attempts"),
        Attempts::Unlimited => "attempts without limit".to_owned(),
    };
    branch(out, policy.order.len(), "└", &times);
}

/// A line of the tree; `mark` is how it hangs on the one above.
fn branch(out: &mut String, depth: usize, mark: &str, text: &str) {
    let hang = match depth {
        0 => String::new(),
        depth => format!("{}{mark} ", "  ".repeat(depth - 1)),
    };
    *out += &format!("  {hang}{text}\n");
}

fn layer_words(policy: &Policy, layer: Layer) -> String {
    match layer {
        Layer::Bulkhead => match &policy.bulkhead {
            Some(it) => format!("bulkhead per {}: {}", it.per, guards::bulkhead(&it.config)),
            None => "bulkhead".into(),
        },
        Layer::Timeout => {
            format!("timeout: {}", policy.timeout.map_or("none".to_owned(), words::span))
        }
        Layer::Retry => match &policy.retry {
            Some(retry) => format!(
                "retry: {}; on {}",
                words::backoff(&retry.backoff),
                if retry.on == ClassSet::NONE {
                    "nothing".to_owned()
                } else {
                    words::classes(retry.on)
                }
            ),
            None => "retry".into(),
        },
        Layer::Hedge => "hedge".into(),
        Layer::Throttle => match &policy.throttle {
            Some(it) => format!("throttle per {}: {}", it.per, guards::throttle(&it.config)),
            None => "throttle".into(),
        },
        Layer::Breaker => match &policy.breaker {
            Some(it) => format!("breaker per {}: {}", it.per, guards::breaker(&it.config)),
            None => "breaker".into(),
        },
        Layer::AttemptTimeout => match &policy.attempt_timeout {
            Some(it) => format!("attempt timeout: {}", words::span(it.after.mean())),
            None => "attempt timeout".into(),
        },
    }
}

fn table(schedule: &Schedule, out: &mut String) {
    let head = ["retry", "from", "to", "mean", "median", "all from", "to", "mean"];
    let row = |wait: &Wait| {
        let about = if wait.exact { "" } else { "≈ " };
        let Wait { wait, sum, retry, .. } = wait;
        [
            retry.to_string(),
            words::span(wait.smallest),
            words::span(wait.largest),
            words::span(wait.mean),
            format!("{about}{}", words::span(wait.median)),
            words::span(sum.smallest),
            words::span(sum.largest),
            words::span(sum.mean),
        ]
    };
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(schedule.waits.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        *out += &format!("  {}\n", cells.collect::<Vec<_>>().join("   "));
    }
    if !schedule.whole {
        *out += "  and so on\n";
    }
}

/// A bar for the window of each wait, its median marked, over one axis of time.
fn chart(waits: &[Wait], out: &mut String) {
    let secs = |span: Duration| span.as_secs_f64();
    let most = waits.iter().map(|it| secs(it.wait.largest)).fold(0.0, f64::max);
    let ends = waits.iter().map(|it| secs(it.wait.largest)).filter(|end| *end > 0.0);
    let least = ends.fold(most, f64::min);
    let logarithmic = most / least > WIDE;
    let floor = least / 2.0;
    let place = |at: f64| {
        let share = if logarithmic {
            (at.max(floor) / floor).ln() / (most / floor).ln()
        } else {
            at / most
        };
        ((share * CHART as f64) as usize).min(CHART - 1)
    };
    let label = waits.len().to_string().len();
    for Wait { retry, wait, .. } in waits {
        let (low, high) = (place(secs(wait.smallest)), place(secs(wait.largest)));
        let median = place(secs(wait.median));
        let bar: String = (0..CHART)
            .map(|at| match at {
                at if at == median => '┃',
                at if (low..=high).contains(&at) => '█',
                _ => '·',
            })
            .collect();
        *out += &format!("  {retry:>label$} {bar}  {}\n", words::window(*wait));
    }
    let end = words::span(Duration::from_secs_f64(most));
    let begin = if logarithmic { words::span(Duration::from_secs_f64(floor)) } else { "0".into() };
    let axis = if logarithmic { ", logarithmic" } else { "" };
    let blank = CHART.saturating_sub(begin.chars().count() + end.chars().count());
    *out += &format!("  {:label$} {begin}{}{end}{axis}; ┃ the median\n", "", " ".repeat(blank));
}

/// What one call does in an outage, and what many cost.
fn outage(it: &Outage, cost: &Cost, out: &mut String) {
    let mut listed: Vec<_> = it.attempts.iter().take(LISTED).map(sent).collect();
    listed.dedup();
    let more = if it.attempts.len() > LISTED { " …" } else { "" };
    *out += &format!("  attempts at {}{more}\n", listed.join(", "));
    let end = match (it.ends, it.ends_by) {
        (End::Never, _) => "  and no end: the call waits for ever\n".to_owned(),
        (End::Timeout, Some(by)) => format!("  the timeout ends the call by {}\n", words::span(by)),
        (End::Elapsed, by) => {
            let by =
                by.map_or(String::new(), |by| format!("; the call ends by {}", words::span(by)));
            format!("  the limit on their time ends the retries{by}\n")
        }
        (End::NotRetried, Some(by)) => {
            format!("  the call ends by {}: this failure is not retried\n", words::span(by))
        }
        (_, Some(by)) => format!("  the call ends by {}\n", words::span(by)),
        (_, None) => String::new(),
    };
    let endless = it.ends == End::Never && it.attempts.len() > 1;
    *out += if endless { "  and no end: the call goes on for ever\n" } else { &end };
    *out += &format!("  at {RATE} calls a second an outage costs {}\n", cost_words(cost));
}

fn sent(it: &Sent) -> String {
    let at = if it.at.latest.is_zero() {
        "0".to_owned()
    } else {
        words::range(it.at.earliest, it.at.latest)
    };
    if it.certain { at } else { format!("{at} (perhaps)") }
}

/// `1.20 attempts a call`.
fn cost_words(cost: &Cost) -> String {
    let Some(attempts) = cost.attempts_per_call else {
        return "more attempts than can be counted".to_owned();
    };
    let attempts = format!("{attempts:.2} attempts a call");
    let stopped = match cost.rejections {
        0 => String::new(),
        n => {
            let each = n as f64 / cost.calls.max(1) as f64;
            format!("; the callers themselves stop {each:.2} a call")
        }
    };
    let endless = match cost.endless {
        true => format!(" within {}, and calls do not end", words::span(cost.within)),
        false => String::new(),
    };
    format!("{attempts}{endless}{stopped}")
}
