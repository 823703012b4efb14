//! Faults around Retry-After and push-back.
