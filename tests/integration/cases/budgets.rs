//! Faults of budgets, quotas and throttles.
