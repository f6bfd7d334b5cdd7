//! The interface of invariants, which the network checks after every step.

use core::fmt;
use std::borrow::Cow;

use super::{Network, step::SimStep};
use crate::sim::check::violation::Violation;

/// A property that must always hold.
///
/// Its cost must follow what a step changed, never the length of the chain. It checks honest replicas only
/// ([`Network::is_honest`]).
pub trait Invariant: CloneInvariant + fmt::Debug + Send + Sync {
    /// Returns its name in kebab case, as used in reports and regression files.
    fn name(&self) -> &'static str;

    /// Returns every name that its violations may have: its own, unless it checks several properties at once.
    fn names(&self) -> Vec<&'static str> {
        vec![self.name()]
    }

    /// Checks what `step` changed.
    ///
    /// # Errors
    /// A [`Violation`] when the property does not hold.
    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation>;
}

/// Cloning of boxed invariants with their network; implemented for every invariant that is `Clone`.
pub trait CloneInvariant {
    /// Returns a boxed clone.
    fn boxed(&self) -> Box<dyn Invariant>;
}

impl<T: Invariant + Clone + 'static> CloneInvariant for T {
    fn boxed(&self) -> Box<dyn Invariant> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Invariant> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

impl Violation {
    /// Returns a violation of `invariant` at the network's current time and step.
    pub fn new(invariant: &'static str, network: &Network, detail: impl Into<String>) -> Self {
        Self { invariant: Cow::Borrowed(invariant), at: network.now(), step: network.steps(), detail: detail.into() }
    }
}
