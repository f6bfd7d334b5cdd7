//! Tests of the records: rules, a naive model, crashes, formats.

mod crashes;
mod formats;
mod fronts;
mod model;
mod notes;
mod parts;
mod rules;
