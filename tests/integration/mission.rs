//! The five source systems as scenarios: what they say, event by event.

mod nest;
