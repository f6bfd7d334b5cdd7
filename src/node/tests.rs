//! The node through its public interface.

mod building;
mod bulk;
mod compose;
mod contracts;
mod debug_text;
mod events;
mod failing_store;
mod fixture;
mod histories;
mod interventions;
mod mining;
mod pending;
mod pool;
mod protocols;
mod pruned_branches;
mod reads;
mod real_time;
mod reorgs;
mod retention;
mod sending;
mod settings;
mod shared_networks;
mod simulations;
mod snapshots;
mod template_handles;
mod timestamps;
