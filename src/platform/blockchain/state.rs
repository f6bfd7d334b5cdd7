//! The states of a chain, and what leads from one to another.

use serde::{Deserialize, Serialize};

use crate::platform::PlatformError;

/// State of a chain, as its record says it.
///
/// | from | by | to |
/// |---|---|---|
/// | (none) | create, import | provisioning |
/// | (none) | create with `start: false` | created |
/// | created | start | provisioning |
/// | provisioning | its network is built | running |
/// | provisioning | a start that fails before there is a genesis, of one made with `start: false` | created |
/// | running | pause | paused |
/// | paused | resume | running |
/// | running, paused | stop | stopped |
/// | running, paused, stopped | a failure of the network, or of opening it | failed |
/// | stopped, failed | start | running |
/// | every one | delete | deleting, and then it is gone |
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ChainState {
    /// Its record and keys exist, and its network is being built.
    Provisioning,
    /// It makes blocks and takes transactions.
    Running,
    /// It makes no blocks and takes no transactions; reads go on.
    Paused,
    /// It is not in memory: nothing of it is read.
    Stopped,
    /// It can't be opened, or stands still by a failure.
    Failed {
        /// What failed.
        reason: String,
    },
    /// It is being deleted.
    Deleting,
    /// Its record and keys exist, and its genesis is not made yet: modules may be added to it.
    Created,
}

/// What its owner has a chain do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainCommand {
    /// From running to paused.
    Pause,
    /// From paused to running.
    Resume,
    /// From running or paused to stopped.
    Stop,
    /// From stopped or failed to running, from created to provisioning.
    Start,
    /// From every state to deleting.
    Delete,
}

impl ChainState {
    /// Name of the state.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
            Self::Deleting => "deleting",
            Self::Created => "created",
        }
    }

    /// Returns whether the chain is in memory in this state.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }

    /// Returns the state after a command; the same one where the command has nothing left to do.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] with the states from which the command leads somewhere.
    pub fn after(&self, command: ChainCommand) -> Result<Self, PlatformError> {
        let next = match (command, self) {
            (ChainCommand::Delete, _) => Self::Deleting,
            (ChainCommand::Start, Self::Created | Self::Provisioning) => Self::Provisioning,
            (ChainCommand::Pause, Self::Running | Self::Paused) => Self::Paused,
            (ChainCommand::Resume, Self::Running | Self::Paused)
            | (ChainCommand::Start, Self::Running | Self::Stopped | Self::Failed { .. }) => Self::Running,
            (ChainCommand::Stop, Self::Running | Self::Paused | Self::Stopped) => Self::Stopped,
            _ => {
                let message = format!(
                    "the chain is {} and can't be {}: that is for one that is {}",
                    self.name(),
                    command.done(),
                    command.from()
                );
                return Err(PlatformError::Conflict { message });
            }
        };
        Ok(next)
    }
}

impl ChainCommand {
    /// All commands.
    pub const ALL: [Self; 5] = [Self::Pause, Self::Resume, Self::Stop, Self::Start, Self::Delete];

    /// Name of the command.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Delete => "delete",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Stop => "stopped",
            Self::Start => "started",
            Self::Delete => "deleted",
        }
    }

    const fn from(self) -> &'static str {
        match self {
            Self::Pause => "running",
            Self::Resume => "paused",
            Self::Stop => "running or paused",
            Self::Start => "created, stopped or failed",
            Self::Delete => "in any state",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the docs, by rows of states and columns of [`ChainCommand::ALL`]; `-` is refused.
    const TABLE: [(&str, [&str; 5]); 7] = [
        ("created", ["-", "-", "-", "provisioning", "deleting"]),
        ("provisioning", ["-", "-", "-", "provisioning", "deleting"]),
        ("running", ["paused", "running", "stopped", "running", "deleting"]),
        ("paused", ["paused", "running", "stopped", "-", "deleting"]),
        ("stopped", ["-", "-", "stopped", "running", "deleting"]),
        ("failed", ["-", "-", "-", "running", "deleting"]),
        ("deleting", ["-", "-", "-", "-", "deleting"]),
    ];

    #[test]
    fn every_state_takes_the_commands_of_the_table() {
        let states = [
            ChainState::Created,
            ChainState::Provisioning,
            ChainState::Running,
            ChainState::Paused,
            ChainState::Stopped,
            ChainState::Failed { reason: "x".to_owned() },
            ChainState::Deleting,
        ];
        for (state, (name, row)) in states.iter().zip(TABLE) {
            assert_eq!(state.name(), name);
            for (command, want) in ChainCommand::ALL.into_iter().zip(row) {
                let after = state.after(command);
                assert_eq!(after.as_ref().map_or("-", ChainState::name), want, "{name}, {}", command.name());
            }
        }
        let refused = ChainState::Stopped.after(ChainCommand::Pause).unwrap_err().to_string();
        assert_eq!(refused, "the chain is stopped and can't be paused: that is for one that is running");
    }
}
