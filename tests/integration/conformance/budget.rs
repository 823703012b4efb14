//! Recordings of budgets, quotas and throttles, and hand traces of those that cannot be recorded.

mod adaptive;
mod envoy;
mod grpc;
mod quota;
mod window;
