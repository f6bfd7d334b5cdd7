//! Scenarios, bad input, random runs.
