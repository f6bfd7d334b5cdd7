//! The state machine alone: scenarios, bad input, changes of the set, restarts.

mod attacks;
mod away;
mod dynasties;
mod formats;
mod gaps;
mod invalid;
mod lab;
mod life;
mod reveals;
mod rewards;
mod sets;
mod withheld;
