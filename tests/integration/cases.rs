//! Faults that real libraries and simulators had, each under its number, with the right value.

mod breakers;
mod budgets;
mod composition;
mod delays;
mod hedging;
mod hints;
mod throttles;
