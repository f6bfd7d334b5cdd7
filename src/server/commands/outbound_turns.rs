//! Turns of work that waits for the network. Somebody else decides how long it takes, so it takes no turn that other work needs, and one
//! workspace has few of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Why there is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutboundBusy {
    #[error("{max} requests of the workspace wait for the network, the most at one time")]
    Workspace { max: usize },
    #[error("{max} requests to the service wait for the network, the most at one time")]
    Service { max: usize },
}

/// The turns of all workspaces. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct OutboundTurns {
    taken: Arc<Mutex<Taken>>,
    max: usize,
    of_workspace_max: usize,
}

/// Turns that are taken.
#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    /// By workspace; one without any is not in it.
    of: HashMap<String, usize>,
}

impl OutboundTurns {
    pub(super) fn new(max: usize, of_workspace_max: usize) -> Self {
        Self { taken: Arc::default(), max, of_workspace_max }
    }

    pub(super) fn take(&self, workspace: &str) -> Result<OutboundTurn, OutboundBusy> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_workspace = taken.of.get(workspace).copied().unwrap_or(0);
        if of_workspace >= self.of_workspace_max {
            return Err(OutboundBusy::Workspace { max: self.of_workspace_max });
        }
        if taken.in_all >= self.max {
            return Err(OutboundBusy::Service { max: self.max });
        }
        taken.in_all = taken.in_all.saturating_add(1);
        taken.of.insert(workspace.to_owned(), of_workspace.saturating_add(1));
        Ok(OutboundTurn { taken: Arc::clone(&self.taken), workspace: workspace.to_owned() })
    }
}

/// A turn, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct OutboundTurn {
    taken: Arc<Mutex<Taken>>,
    workspace: String,
}

impl Drop for OutboundTurn {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.in_all = taken.in_all.saturating_sub(1);
        let left = taken.of.remove(&self.workspace).unwrap_or(0).saturating_sub(1);
        if left > 0 {
            taken.of.insert(core::mem::take(&mut self.workspace), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_its_turns_and_no_more() {
        let turns = OutboundTurns::new(64, 2);
        let first = turns.take("ws_a").unwrap();
        let second = turns.take("ws_a").unwrap();
        assert_eq!(turns.take("ws_a").map(drop), Err(OutboundBusy::Workspace { max: 2 }));
        let other = turns.take("ws_b").unwrap();
        drop(first);
        let third = turns.take("ws_a").unwrap();
        assert_eq!(turns.take("ws_a").map(drop), Err(OutboundBusy::Workspace { max: 2 }));
        drop((second, third, other));
        let taken = turns.taken.lock().unwrap();
        assert_eq!((taken.in_all, taken.of.len()), (0, 0), "nothing is kept of who has none");
    }

    #[test]
    fn all_workspaces_together_have_their_turns_and_no_more() {
        let turns = OutboundTurns::new(64, 2);
        let names: Vec<String> = (0..32).map(|number| format!("ws_{number}")).collect();
        let mut taken: Vec<OutboundTurn> = names.iter().chain(&names).map(|name| turns.take(name).unwrap()).collect();
        assert_eq!(turns.take("ws_other").map(drop), Err(OutboundBusy::Service { max: 64 }));
        assert_eq!(turns.take("ws_0").map(drop), Err(OutboundBusy::Workspace { max: 2 }));
        taken.pop();
        let last = turns.take("ws_other").unwrap();
        assert_eq!(turns.take("ws_another").map(drop), Err(OutboundBusy::Service { max: 64 }));
        drop((taken, last));
        assert!(turns.take("ws_another").is_ok());
    }
}
