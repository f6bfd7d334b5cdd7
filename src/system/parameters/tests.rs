//! The contract against a model, and what it costs.
