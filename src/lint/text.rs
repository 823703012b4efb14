//! The words of `explain`.

use std::fmt::Write;

use crate::lint::crash::Crash;
use crate::lint::explain::Explanation;
use crate::lint::explain::PolicyCase;
use crate::lint::load::Holding;
use crate::lint::load::LoadClass;
use crate::lint::load::ServiceLoad;
use crate::lint::text_queue;
use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::EdgeCase;
use crate::lint::worst_case::WaitRow;
use crate::lint::writes::WriteCase;
use crate::units::Duration;

/// What follows from the model, as comments under it.
pub(super) fn text(found: &Explanation<'_>) -> String {
    let mut out = String::new();
    heading(&mut out, "Load on paper");
    for service in &found.services {
        load(&mut out, service);
    }
    heading(&mut out, "Calls at their worst");
    for call in &found.calls {
        edge(&mut out, call);
    }
    if !found.writes.is_empty() {
        heading(&mut out, "Writes");
    }
    for case in &found.writes {
        line(&mut out, &write(case));
    }
    if !found.queues.is_empty() {
        heading(&mut out, "Queues of jobs");
    }
    for case in &found.queues {
        text_queue::queue(&mut out, case);
    }
    heading(&mut out, "Policies");
    for case in &found.policies {
        policy(&mut out, case);
    }
    if !found.remarks.is_empty() {
        heading(&mut out, "Advised against");
    }
    for remark in &found.remarks {
        line(&mut out, remark);
    }
    out
}

fn heading(out: &mut String, title: &str) {
    line(out, "");
    line(out, title);
    line(out, &"-".repeat(title.len()));
}

/// Everything below the model is a comment, so that the whole can be kept as a scenario.
pub(super) fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", format!("# {text}").trim_end());
}

fn load(out: &mut String, service: &ServiceLoad) {
    let class = match service.class {
        LoadClass::Safe => "safe",
        LoadClass::Vulnerable => "vulnerable",
        LoadClass::Overloaded => "overloaded",
    };
    let capacity = service
        .capacity_rps
        .map_or("without bound".to_owned(), |rate| format!("{}/s", number(rate)));
    line(
        out,
        &format!(
            "{}: {class}. {}/s against {capacity}: {} busy without retries, {} with every attempt \
             used.",
            service.service,
            number(service.rate_rps),
            percent(Some(service.utilisation)),
            percent(service.load_all_attempts),
        ),
    );
    match service.attempts_per_request {
        Attempts::AtMost(0) => line(out, "  No request ever comes here."),
        Attempts::AtMost(1) => line(out, "  One request makes at most 1 attempt here."),
        attempts => {
            line(out, &format!("  One request makes up to {attempts} attempts here."));
        }
    }
    let budgeted = service.load_within_budgets != service.load_all_attempts;
    if budgeted && service.class == LoadClass::Vulnerable {
        let verdict = match service.load_within_budgets {
            Some(load) if load < 1.0 => "budgets leave no room for a storm that lasts",
            _ => "that is no protection",
        };
        line(
            out,
            &format!(
                "  Within the retry budgets the load is at most {}: {verdict}.",
                percent(service.load_within_budgets)
            ),
        );
    }
    match (service.full_queue_wait, service.patience) {
        (None, Some(patience)) => line(
            out,
            &format!(
                "  The queue has no limit: waiting alone can outlast the {patience} of a caller."
            ),
        ),
        (Some(wait), Some(patience)) if service.waiting_can_time_out => line(
            out,
            &format!(
                "  A full queue takes {} and callers give up after {patience}: waiting alone can \
                 cause timeouts.",
                rounded(wait)
            ),
        ),
        (Some(wait), Some(patience)) => line(
            out,
            &format!(
                "  A full queue takes {}, callers wait {patience}: waiting alone causes no timeouts.",
                rounded(wait)
            ),
        ),
        (_, None) => {}
    }
    if let Some(drain) = service.drain.filter(|drain| !drain.is_zero()) {
        line(
            out,
            &format!(
                "  After the trigger the backlog drains in {} if nobody retries.",
                rounded(drain)
            ),
        );
    }
    if let Some(held) = &service.holding {
        line(out, &format!("  {}", holding(held)));
    }
    if let Some(threshold) = &service.crash {
        line(out, &format!("  {}", crash(threshold, service.rate_rps)));
    }
}

/// At which load a threshold is met.
fn crash(crash: &Crash, rate_rps: f64) -> String {
    let work = crash.work.map_or(String::new(), |work| format!(" ({} of its work)", rounded(work)));
    let at = format!("A replica crashes with {} attempts present{work}", crash.crashes_at);
    if let Some(most) = crash.most_inside.filter(|most| *most < u64::from(crash.crashes_at)) {
        return format!("{at}; its workers and queue let in at most {most}, so it never does.");
    }
    let Some(rate) = crash.met_from_rps else {
        return format!("{at}; no rate is known at which it would.");
    };
    let cold = crash
        .met_from_cold_rps
        .filter(|cold| *cold < rate && rate >= 0.01)
        .map_or(String::new(), |cold| format!(" ({}/s while cold)", number(cold)));
    let least = if rate < 0.01 {
        "hardly any load".to_owned()
    } else {
        format!("more than {}/s without retries", number(rate))
    };
    let verdict = match crash.fills_in {
        Some(span) => format!("there are {}/s: met within {}", number(rate_rps), rounded(span)),
        None if rate_rps > rate => format!("there are {}/s: met", number(rate_rps)),
        None => format!("there are {}/s: not met by retries alone", number(rate_rps)),
    };
    format!("{at}. With every attempt used, that takes {least}{cold}; {verdict}.")
}

/// What waiting for calls can take.
fn holding(held: &Holding) -> String {
    let there = match held.workers {
        1 => "there is 1".to_owned(),
        workers => format!("there are {workers}"),
    };
    match (held.workers_needed, held.longest.open_ended) {
        (None, _) => format!(
            "Workers wait for calls that can go on for ever: no number of workers would be enough; \
             {there}."
        ),
        (Some(_), true) if held.longest.span.is_zero() => format!(
            "Workers wait for calls without a timeout: no number of workers is surely enough; {there}."
        ),
        (Some(needed), open_ended) => {
            let more = if open_ended { "more than " } else { "" };
            format!(
                "Workers wait for calls: if every call took its longest ({}), {more}{} workers would \
                 be needed; {there}.",
                rounded(held.longest.span),
                number(needed.ceil()),
            )
        }
    }
}

fn edge(out: &mut String, call: &EdgeCase) {
    let longest = match (call.longest.span, call.longest.open_ended) {
        (Duration::MAX, _) => "for ever".to_owned(),
        (Duration::ZERO, true) => {
            "as long as the answer takes: no attempt has a timeout".to_owned()
        }
        (span, true) => format!("{span} of waits and timeouts, and as long as answers take"),
        (span, false) => format!("at most {span}"),
    };
    let attempts = match call.attempts_per_call {
        Attempts::AtMost(1) => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    line(
        out,
        &format!("{} -> {} ({}): {attempts}, {longest}.", call.caller, call.target, call.policy),
    );
    if let (true, Some(patience)) = (call.orphans, call.patience) {
        let this = match call.longest.span {
            Duration::MAX => "for ever".to_owned(),
            _ if call.longest.open_ended => "without end".to_owned(),
            span => format!("for {span}"),
        };
        line(
            out,
            &format!(
                "  Whoever waits for {} gives up after {patience} while this call may go on {this}: \
                 orphaned work.",
                call.caller
            ),
        );
    }
}

/// What tells the repetitions of a write.
fn write(case: &WriteCase) -> String {
    let WriteCase { caller, target, operation, longest, .. } = case;
    let longest = match longest.span {
        Duration::MAX => "for ever".to_owned(),
        span => format!("for {}", rounded(span)),
    };
    let so = match (case.repeated, case.told, case.kept_for) {
        (false, ..) => "nobody repeats it".to_owned(),
        (true, true, Some(kept_for)) if case.outlives_key => format!(
            "its key is forgotten after {kept_for}, while attempts may follow one another {longest}: \
             a late one takes effect again"
        ),
        (true, true, Some(kept_for)) => {
            format!("a repetition is told by its key, which is kept for {kept_for}")
        }
        (true, ..) => "it is repeated, and nothing tells a repetition: where an answer is lost it \
                       takes effect twice"
            .to_owned(),
    };
    format!("{caller} -> {target} ({operation}): {so}.")
}

fn policy(out: &mut String, case: &PolicyCase) {
    let attempts = match case.attempts_per_call {
        Attempts::AtMost(1) => "one attempt per call".to_owned(),
        attempts => format!("{attempts} attempts per call"),
    };
    line(out, &format!("{}: {attempts}.", case.policy));
    for level in &case.attempt_tree {
        line(out, &format!("  {level}"));
    }
    if let Some(words) = &case.waits_in_words {
        line(out, &format!("  Waits: {words}."));
    }
    if !case.schedule.is_empty() {
        schedule(out, &case.schedule, case.goes_on);
        let listed = Attempts::AtMost(case.schedule.len() as u64 + 1);
        let waits = match case.goes_on || case.attempts_per_call == listed {
            true => "All waits of one call",
            // Policies inside have waits of their own.
            false => "All these waits of one call",
        };
        line(out, &format!("  {waits}: at most {}.", rounded(case.waits_in_all)));
    }
    if let Some(words) = &case.hedge_in_words {
        line(out, &format!("  Hedge: {words}."));
    }
    for state in &case.instances {
        let sum = match (state.strategy, state.sum) {
            ("budget" | "hedge budget", Some(sum)) => {
                format!(", {} tokens in all when full", number(sum))
            }
            ("bulkhead", Some(sum)) => format!(", {} places in all", number(sum)),
            _ => String::new(),
        };
        let strategy = state.strategy;
        line(
            out,
            &format!("  {strategy}: one state per {}, {} of them{sum}.", state.per, state.count),
        );
    }
}

/// The waits before retries, a row for each.
pub(super) fn schedule(out: &mut String, rows: &[WaitRow], goes_on: bool) {
    line(out, "  retry    window  smallest   largest      mean");
    for row in rows {
        let spans = [row.window, row.smallest, row.largest, row.mean].map(rounded);
        let columns: String = spans.iter().map(|span| format!("{span:>10}")).collect();
        line(out, &format!("  {:>5}{columns}", row.retry));
    }
    if goes_on {
        line(out, "      …");
    }
}

/// A number with three significant digits, whole from 100 on.
pub(super) fn number(value: f64) -> String {
    let decimals = if value >= 100.0 || value.fract() == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

fn percent(load: Option<f64>) -> String {
    load.map_or("no bound".to_owned(), |load| format!("{}%", number(load * 100.0)))
}

/// A span to the nearest thousandth of its size, for reading.
pub(super) fn rounded(span: Duration) -> String {
    if span == Duration::MAX {
        return span.to_string();
    }
    let mut step = 1u64;
    while span.as_nanos() / step >= 10_000 {
        step *= 10;
    }
    Duration::from_nanos(span.as_nanos().saturating_add(step / 2) / step * step).to_string()
}

#[cfg(test)]
mod tests {
    use crate::lint::longest::LongestCall;

    use super::*;

    #[test]
    fn a_crash_threshold_stands_against_the_load() {
        let threshold = Crash {
            crashes_at: 400,
            work: Some(Duration::from_millis(1_600)),
            most_inside: Some(1_005),
            met_from_rps: Some(250.0 / 64.0),
            met_from_cold_rps: Some(125.0 / 64.0),
            fills_in: Some(Duration::from_millis(296)),
        };
        let text = "A replica crashes with 400 attempts present (1.6s of its work). With every \
                    attempt used, that takes more than 3.91/s without retries (1.95/s while cold); \
                    there are 25/s: met within 296ms.";
        assert_eq!(crash(&threshold, 25.0), text);
        let calm = Crash { fills_in: None, ..threshold };
        assert!(crash(&calm, 3.0).ends_with("there are 3/s: not met by retries alone."));
        let short = Crash { most_inside: Some(205), met_from_rps: None, ..calm };
        assert!(crash(&short, 25.0).ends_with("let in at most 205, so it never does."));
    }

    #[test]
    fn workers_at_the_worst_stand_against_those_there_are() {
        let span = Duration::from_secs(8);
        let longest = LongestCall { span, open_ended: false };
        let held = Holding { longest, workers_needed: Some(200.2), workers: 40 };
        let text = "Workers wait for calls: if every call took its longest (8s), 201 workers would be \
                    needed; there are 40.";
        assert_eq!(holding(&held), text);
        let endless = Holding { workers_needed: None, workers: 1, ..held };
        assert!(holding(&endless).ends_with("no number of workers would be enough; there is 1."));
    }
}
