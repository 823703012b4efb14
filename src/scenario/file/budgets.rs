//! `budget`: what retries may cost in all.

use crate::policy::budget::DepositPoint;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::units::Share;

const MOST_TOKENS: f64 = 4_000_000.0;

const DEPOSITS: [(&str, DepositPoint); 3] = [
    ("call", DepositPoint::Call),
    ("success", DepositPoint::Success),
    ("first_success", DepositPoint::FirstSuccess),
];

/// A budget as written; amounts are thousandths of a token.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) enum WrittenBudget {
    /// gRPC's bucket.
    TokenBucket { max: u32, ratio: u32, threshold: Share, counts: Option<ClassSet> },
    /// A share of the traffic.
    Ratio { share: u32, deposit: DepositPoint, floor: u32, cap: u32, start: u32 },
}

/// `{ token_bucket: … }` or `{ ratio: … }`.
pub(super) fn read_budget(node: &Node, problems: &mut Problems) -> Option<Scoped<WrittenBudget>> {
    let mut fields = Fields::open(node, "`budget`", problems)?;
    let chosen = fields.choose(&["token_bucket", "ratio"], problems);
    fields.close(problems);
    match chosen? {
        ("token_bucket", node) => read_token_bucket(node, problems),
        (_, node) => read_ratio(node, problems),
    }
}

fn read_token_bucket(node: &Node, problems: &mut Problems) -> Option<Scoped<WrittenBudget>> {
    let mut fields = Fields::open(node, "`token_bucket`", problems)?;
    let max = fields.need("max_tokens", "what it holds, as 10", problems, tokens);
    let ratio = fields.need("token_ratio", "what a success gives back, as 0.1", problems, tokens);
    let threshold = fields.get("threshold", problems, reader::share);
    let counts = fields.get("counts", problems, read_classes);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let (max, ratio) = (max?, ratio?);
    for amount in [max, ratio] {
        if amount.value == 0 {
            problems.push_with(
                amount.place,
                "a bucket without tokens never allows a retry",
                "accepted is anything above 0; callers that never retry have `max_attempts: 1`",
            );
        }
    }
    let half = Share::new(defaults::THRESHOLD).unwrap_or_default();
    let threshold = threshold.map_or(half, |threshold| threshold.value);
    let counts = counts.map(|counts| counts.value);
    let config =
        WrittenBudget::TokenBucket { max: max.value, ratio: ratio.value, threshold, counts };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

fn read_ratio(node: &Node, problems: &mut Problems) -> Option<Scoped<WrittenBudget>> {
    let mut fields = Fields::open(node, "`ratio`", problems)?;
    let share = fields.need("share", "retries per deposit, as `20%`", problems, |n, p| {
        let share = reader::share(n, p)?;
        thousandths(share.get(), n.place, p)
    });
    let help = "when it is paid in: `call`, `success` or `first_success`; the three differ by as \
                much as the budget itself";
    let deposit = fields.need("deposit", help, problems, reader::word(&DEPOSITS));
    let floor = fields.get("floor", problems, |n, p| {
        let rate = reader::rate(n, p)?.as_per_second();
        if rate > MOST_TOKENS {
            p.push_with(
                n.place,
                "this floor is out of range",
                format!("accepted are 0/s to {MOST_TOKENS}/s"),
            );
            return None;
        }
        // Rates per minute or hour are rarely whole thousandths per second: the nearest one.
        Some((rate * 1_000.0 + 0.5) as u32)
    });
    let cap = fields.get("cap", problems, tokens);
    let start = fields.get("start", problems, tokens);
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let most = cap.map_or(defaults::BUDGET_CAP_TOKENS * 1_000, |cap| cap.value);
    if let Some(start) = start
        && start.value > most
    {
        problems.push_with(
            start.place,
            "the budget starts with more than it can hold",
            format!("raise `cap` above {} tokens", f64::from(most) / 1_000.0),
        );
    }
    let config = WrittenBudget::Ratio {
        share: share?.value,
        deposit: deposit?.value,
        floor: floor.map_or(0, |floor| floor.value),
        cap: most,
        start: start.map_or(most, |start| start.value),
    };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}

/// An amount of tokens in thousandths.
fn tokens(node: &Node, problems: &mut Problems) -> Option<u32> {
    let tokens = reader::real(0.0..=MOST_TOKENS)(node, problems)?;
    thousandths(tokens, node.place, problems)
}

/// Whole thousandths: tokens are counted, never added up as fractions.
fn thousandths(value: f64, place: Place, problems: &mut Problems) -> Option<u32> {
    let milli = (value * 1_000.0).round();
    if (milli - value * 1_000.0).abs() > 1e-6 * milli.max(1.0) {
        problems.push_with(
            place,
            "tokens are counted in thousandths, and this is finer",
            "round it to three decimals (a share: to 0.1%)",
        );
        return None;
    }
    Some(milli as u32)
}
