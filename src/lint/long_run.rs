//! What budgets pay for in the long run.

use crate::lint::shares::count_instances;
use crate::policy::budget::BudgetConfig;
use crate::policy::stack::Policy;
use crate::policy::stack::Scoped;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Model;

/// Attempts per call in the long run: what is paid in, plus the floors, up to the attempts allowed;
/// those of retries, hedges and policies inside one another multiplied. A bucket that successes
/// fill pays for at most `ratio` retries per call, whatever its size.
pub(super) fn within_budget(model: &Model, edge: EdgeId, calls: f64) -> f64 {
    let paid = |policy: &Policy, most: Option<u32>, budget: Option<Scoped<BudgetConfig>>| {
        let all = most.map_or(f64::INFINITY, f64::from);
        let Some(budget) = budget else { return all };
        let Some((paid, floor)) = budget.config.in_the_long_run() else { return all };
        let floors = if floor == 0 || !calls.is_finite() {
            0.0
        } else {
            count_instances(model, policy, budget.per) as f64 * f64::from(floor)
        };
        all.min(1.0 + (f64::from(paid) + floors / calls) / 1_000.0)
    };
    let each = |policy: &Policy| {
        let retries =
            policy.retry.as_ref().map_or(1.0, |it| paid(policy, it.max_attempts, it.budget));
        let hedges = policy
            .hedge
            .as_ref()
            .map_or(1.0, |it| paid(policy, Some(it.config.max_attempts), it.budget));
        retries * hedges
    };
    model.policy_of(edge).nested().map(each).product()
}

#[cfg(test)]
mod tests {
    use crate::lint::load::tests::loads_of;

    #[test]
    fn budgets_bound_the_load_in_the_long_run() {
        #[track_caller]
        fn check(budget: &str, expected: f64) {
            let policy = format!("{{retry: {{max_attempts: 20, budget: {budget}}}}}");
            let db = &loads_of("20ms", "{}", &policy)[1];
            let found = db.load_within_budgets.unwrap();
            assert!((found - expected).abs() < 1e-9, "{budget}: {found}");
        }
        check("{ratio: {share: 20%, deposit: call}}", 0.12);
        // Four replicas each have the floor: 30 + 4 × 10 = 70 of 250.
        check("{ratio: {share: 20%, deposit: call, floor: 10/s}}", 0.28);
        check("{ratio: {share: 20%, deposit: call, floor: 10/s, per: [target]}}", 0.16);
        check("{token_bucket: {max_tokens: 10, token_ratio: 0.1}}", 0.11);
    }

    #[test]
    fn hedges_and_policies_inside_multiply_within_their_budgets() {
        #[track_caller]
        fn check(policy: &str, all: f64, paid: f64) {
            let db = &loads_of("20ms", "{}", policy)[1];
            let found = [db.load_all_attempts, db.load_within_budgets].map(Option::unwrap);
            assert!((found[0] - all).abs() + (found[1] - paid).abs() < 1e-9, "{policy}: {found:?}");
        }
        let ratio = "{ratio: {share: 5%, deposit: call}}";
        check("{hedge: {after: 1s, max_attempts: 3}}", 0.3, 0.3);
        check(&format!("{{hedge: {{after: 1s, max_attempts: 3, budget: {ratio}}}}}"), 0.3, 0.105);
        let retry = format!("retry: {{max_attempts: 4, budget: {ratio}}}");
        check(&format!("{{hedge: {{after: 1s}}, {retry}}}"), 0.8, 0.21);
        check(&format!("{{hedge: {{after: 1s}}, inner: q}}, q: {{{retry}}}"), 0.8, 0.21);
    }
}
