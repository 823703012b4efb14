//! What the five source systems say, asserted: each test names the rows it covers (K1 to K23, W1 to
//! W40, N1 to N45, D1 to D42, P1 to P28).

mod figures;
mod probes;
