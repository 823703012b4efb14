//! What is present at a service, and under way on an edge, at one moment.

/// What is present at a service at one moment, all replicas together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLevel {
    /// Attempts waiting for a worker.
    pub waiting: u32,
    /// Attempts waiting, in service and out on calls.
    pub present: u32,
    /// Workers busy.
    pub busy: u32,
    /// Replicas that take up work.
    pub replicas_up: u32,
    /// Integral of busy workers over the window that ends, in worker-nanoseconds.
    pub busy_ns: u64,
    /// Integral of attempts present over the window that ends, in attempt-nanoseconds.
    pub present_ns: u64,
    /// Integral of attempts waiting over the window that ends, in attempt-nanoseconds.
    pub waiting_ns: u64,
}

/// What is under way on the caller's side of an edge at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeLevel {
    /// Calls waiting in a back-off.
    pub backing_off: u32,
    /// Integral of calls in back-off over the window that ends, in call-nanoseconds.
    pub backing_off_ns: u64,
    /// Breakers open or half-open.
    pub breakers_open: u32,
    /// Breakers in use.
    pub breakers: u32,
}
