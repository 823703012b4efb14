//! The schedule of one policy: its layers as a tree, its waits, a chart, what it does in an outage.

use crate::experiment::outage::OneCall;
use crate::experiment::outage::OneCalls;
use crate::lint::Attempts;
use crate::lint::Schedule;
use crate::lint::Wait;
use crate::lint::hedge_in_words;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::report::policies::Outages;
use crate::report::policies::guards;
use crate::report::policies::outages;
use crate::report::policies::words;
use crate::units::Duration;

/// Columns of the chart.
const CHART: usize = 48;
/// From this ratio of the longest window to the shortest on, the chart's axis is logarithmic.
const WIDE: f64 = 100.0;

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
    let one = |of: fn(&OneCalls) -> &OneCall| costs.one_call.as_ref().map(of);
    out += "\nA service that refuses at once\n";
    outages::outage(policy, &schedule.refusing, &costs.refusing, one(|it| &it.refusing), &mut out);
    out += "\nA service that hangs\n";
    outages::outage(policy, &schedule.hanging, &costs.hanging, one(|it| &it.hanging), &mut out);
    out += &format!("\n{}\n", outages::HOW_COUNTED);
    out
}

/// The layers, each inside the one before, and the attempts inside the last.
fn tree(policy: &Policy, schedule: &Schedule, out: &mut String) {
    let outside = policy.layers_outside_retry().len();
    let retries = policy.retry.is_some();
    for (depth, layer) in policy.order.iter().enumerate() {
        let sees = match (retries, depth) {
            (true, depth) if depth < outside => " (sees calls)",
            (true, depth) if depth > outside => " (sees attempts)",
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
        Attempts::AtMost(n) => format!("up to {}", words::counted_attempts(n)),
        Attempts::Unlimited => "attempts without limit".to_owned(),
    };
    let mut depth = policy.order.len();
    if let Some(inner) = &policy.inner {
        let text = format!("each of them a call under the policy `{}`", inner.name);
        branch(out, depth, "└", &text);
        depth += 1;
    }
    branch(out, depth, "└", &times);
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
            Some(_) if policy.max_attempts() == Some(1) => {
                "retry: none, since 1 attempt is all there is".into()
            }
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
        Layer::Hedge => match &policy.hedge {
            Some(hedge) => format!("hedge: {}", hedge_in_words(hedge)),
            None => "hedge".into(),
        },
        Layer::Throttle => match &policy.throttle {
            Some(it) => format!("throttle per {}: {}", it.per, guards::throttle(&it.config)),
            None => "throttle".into(),
        },
        Layer::Breaker => match &policy.breaker {
            Some(it) => format!("breaker per {}: {}", it.per, guards::breaker(&it.config)),
            None => "breaker".into(),
        },
        Layer::AttemptTimeout => match &policy.attempt_timeout {
            Some(it) => format!("attempt timeout: {}", words::attempt_timeout(it)),
            None => "attempt timeout".into(),
        },
    }
}

fn table(schedule: &Schedule, out: &mut String) {
    let head = ["retry", "from", "to", "mean", "median", "sum from", "to", "mean"];
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
