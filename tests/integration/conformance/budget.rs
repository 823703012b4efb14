//! Recordings of budgets.
