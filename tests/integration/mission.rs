//! The source systems, replayed: what their scenarios say, event by event.

mod dotnet;
