//! Fault plans: the faults of a run, with their times and durations.
//!
//! A [`FaultPlan`] is a list of timed faults, each of which can be left out independently, so that a failing plan can
//! be shrunk.

mod behaviour;
mod error;
mod link;
mod random;
#[cfg(any(test, feature = "testing"))]
mod strategy;

use core::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    consensus::ReplicaId,
    sim::millis::{is_whole_millis, millis_serde, optional_millis_serde, whole_millis},
};

pub use behaviour::{Behaviour, Trigger};
pub use error::PlanError;
pub use link::{Delay, LinkEffect, LinkFault};

/// The version of the format that this crate writes and reads.
pub const PLAN_VERSION: u32 = 1;
/// Most faults that a plan may have.
pub const FAULTS_MAX: usize = 4_096;
/// Latest time in a plan, and longest fault: a year.
const MILLIS_MAX: u64 = 365 * 24 * 3_600 * 1_000;

/// Number of a fault in one network: its index in the plan, or a greater number for one begun by a direct call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

impl FaultId {
    /// Returns the fault with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Faults of a run, each of which can be left out independently.
///
/// A plan is written and read as TOML or JSON, with times in milliseconds and probabilities in thousandths. A kind, effect, behaviour
/// or trigger without parameters is a string, one with parameters a table; [`FaultPlan::EXAMPLE`] has all of them.
///
/// ```
/// use chainbox::sim::FaultPlan;
/// let plan = FaultPlan::from_toml(r#"
///     version = 1
///
///     [[faults]]
///     at_ms = 3000
///     for_ms = 4000
///     what = { partition = { groups = [[0, 1], [2, 3]] } }
///
///     [[faults]]
///     at_ms = 5000
///     for_ms = 500
///     what = { crash = { replica = 2 } }
/// "#)?;
/// plan.check(4)?;
/// assert_eq!(FaultPlan::from_json(&plan.to_json())?, plan);
/// # Ok::<(), chainbox::sim::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Version of the format; [`PLAN_VERSION`].
    #[serde(deserialize_with = "known_version")]
    pub version: u32,
    /// Faults in any order; each is independent of the others.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// One fault and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Beginning, in virtual time since the network began; whole milliseconds.
    #[serde(rename = "at_ms", with = "millis_serde")]
    pub at: Duration,
    /// Duration, in whole milliseconds; without it, until the network is healed.
    #[serde(rename = "for_ms", with = "optional_millis_serde", default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Kind and parameters.
    #[serde(rename = "what")]
    pub kind: FaultKind,
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum FaultKind {
    /// A fault of some links.
    Link(LinkFault),
    /// Replicas of different groups are disconnected; those that are not listed form one more group.
    Partition {
        /// Groups; each replica is in one at most.
        groups: Vec<Vec<ReplicaId>>,
    },
    /// Messages in one direction are lost.
    OneWay {
        /// Senders.
        from: Vec<ReplicaId>,
        /// Receivers.
        to: Vec<ReplicaId>,
    },
    /// One replica is disconnected from all others.
    Isolate {
        /// Replica.
        replica: ReplicaId,
    },
    /// A partition in two, with one part of this size, drawn when it begins.
    Split {
        /// Size of the first part.
        size: u32,
    },
    /// A crash: the replica loses its memory and restarts from its disk when the fault ends.
    Crash {
        /// Replica.
        replica: ReplicaId,
    },
    /// A crash after which the disk is empty.
    Wipe {
        /// Replica.
        replica: ReplicaId,
    },
    /// All processes stand still together, as on one machine that sleeps: nothing of the time is made up for. The other times of the plan
    /// count time in which they run.
    Sleep,
    /// A pause: events for the replica wait until the fault ends.
    Pause {
        /// Replica.
        replica: ReplicaId,
    },
    /// An error of a replica's clock.
    Clock {
        /// Replica.
        replica: ReplicaId,
        /// Offset, in milliseconds; negative for a clock that is behind.
        #[serde(default)]
        offset_ms: i64,
        /// Drift, in millionths; negative for a slow clock.
        #[serde(default)]
        drift_ppm: i64,
    },
    /// A slow disk: writes complete in order after a delay; a crash before loses them, and may tear the oldest of the lost ones.
    Disk {
        /// Replica.
        replica: ReplicaId,
        /// Duration of a write.
        delay: Delay,
    },
    /// A slow processor: each block takes this long to build and to execute, one after the other.
    SlowExecution {
        /// Replica.
        replica: ReplicaId,
        /// Duration of one block.
        delay: Delay,
    },
    /// Misbehaviour of a replica.
    Byzantine {
        /// Replica.
        replica: ReplicaId,
        /// Behaviour.
        behaviour: Behaviour,
        /// Trigger.
        #[serde(default)]
        when: Trigger,
    },
    /// Amnesia: when the fault ends, the replica restarts with the records that it had when it began.
    Amnesia {
        /// Replica.
        replica: ReplicaId,
    },
    /// Bits of records on a disk are flipped. The checksums detect them when the replica
    /// restarts, which happens at the end of the fault unless it was down before. It then discards its disk and
    /// starts as after a wipe.
    Corrupt {
        /// Replica.
        replica: ReplicaId,
    },
    /// A replica's key runs in two processes with the same past ("Twins: BFT Systems Made Robust", Bano et al., 2021). One is
    /// connected to `group`, the twin to all others. Of two such replicas the first processes are connected, and the
    /// twins are.
    Twins {
        /// Replica.
        replica: ReplicaId,
        /// Replicas connected to the first process.
        group: Vec<ReplicaId>,
    },
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self { version: PLAN_VERSION, faults: Vec::new() }
    }
}

impl FaultPlan {
    /// Returns a plan of these faults.
    pub fn new(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self { faults: faults.into_iter().collect(), ..Self::default() }
    }

    /// Adds a fault that begins at `at` and lasts for `duration`.
    #[must_use]
    pub fn with(mut self, at: Duration, duration: Duration, kind: FaultKind) -> Self {
        self.faults.push(Fault { at, duration: Some(duration), kind });
        self
    }

    /// Adds a fault that begins at `at` and lasts until the network is healed.
    #[must_use]
    pub fn with_lasting(mut self, at: Duration, kind: FaultKind) -> Self {
        self.faults.push(Fault { at, duration: None, kind });
        self
    }

    /// Returns whether the plan has no faults.
    pub const fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the replicas that misbehave at some time, in ascending order; nothing is guaranteed for them.
    pub fn byzantine(&self) -> Vec<ReplicaId> {
        let mut replicas: Vec<_> = self.faults.iter().filter_map(|fault| fault.kind.byzantine()).collect();
        replicas.sort_unstable();
        replicas.dedup();
        replicas
    }

    /// Checks the plan for a network of `replicas` replicas.
    ///
    /// # Errors
    /// [`PlanError`] with the first invalid fault and the reason.
    pub fn check(&self, replicas: usize) -> Result<(), PlanError> {
        Head { version: self.version.into() }.check()?;
        if self.faults.len() > FAULTS_MAX {
            return Err(PlanError::TooMany { got: self.faults.len(), limit: FAULTS_MAX });
        }
        self.faults.iter().enumerate().try_for_each(|(index, fault)| fault.check(index, replicas))
    }

    /// A plan in TOML with every kind of fault, effect, behaviour and trigger, for seven replicas, and comments.
    pub const EXAMPLE: &'static str = include_str!("plan/example.toml");

    /// Reads TOML, of the form of [`FaultPlan::EXAMPLE`]. Does not check the plan against a network; see [`FaultPlan::check`].
    ///
    /// # Errors
    /// [`PlanError::Version`] for another version, whatever else it has; otherwise [`PlanError::Toml`] with the line.
    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        if let Ok(head) = toml::from_str::<Head>(text) {
            head.check()?;
        }
        Ok(toml::from_str(text)?)
    }

    /// Writes TOML.
    pub fn to_toml(&self) -> String {
        // Every field is a table, a list, a string or an integer below 2^63, all of which TOML can represent.
        toml::to_string(self).unwrap_or_default()
    }

    /// Reads JSON, as [`FaultPlan::from_toml`] reads TOML.
    ///
    /// # Errors
    /// [`PlanError::Version`] for another version, whatever else it has; otherwise [`PlanError::Json`] with the line.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        if let Ok(head) = serde_json::from_str::<Head>(text) {
            head.check()?;
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Writes JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The fields that plans of every version have; read first, as another version may have other fields.
#[derive(Deserialize)]
struct Head {
    version: u64,
}

impl Head {
    const fn check(&self) -> Result<(), PlanError> {
        if self.version == PLAN_VERSION as u64 {
            Ok(())
        } else {
            Err(PlanError::Version { got: self.version, want: PLAN_VERSION })
        }
    }
}

/// Reads a plan inside another file, and its version first.
fn known_version<'de, D: Deserializer<'de>>(reader: D) -> Result<u32, D::Error> {
    let version = u64::deserialize(reader)?;
    Head { version }.check().map_err(D::Error::custom)?;
    Ok(PLAN_VERSION)
}

impl Fault {
    fn check(&self, index: usize, replicas: usize) -> Result<(), PlanError> {
        for (field, duration) in [("at_ms", Some(self.at)), ("for_ms", self.duration)] {
            let Some(duration) = duration else { continue };
            if whole_millis(duration) > MILLIS_MAX {
                return Err(PlanError::TooLong { index, field, limit: MILLIS_MAX });
            }
            if !is_whole_millis(duration) {
                return Err(PlanError::Fraction { index, field, got: duration });
            }
        }
        if self.kind == FaultKind::Sleep && self.duration.is_none() {
            let reason = "everybody sleeps, so that nobody could end it: give for_ms".to_owned();
            return Err(PlanError::Fault { index, kind: self.kind.label(), reason });
        }
        self.kind.check(replicas).map_err(|reason| PlanError::Fault { index, kind: self.kind.label(), reason })
    }
}

impl FaultKind {
    /// Returns the kind, as plans, traces and digests name it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Link(fault) => fault.effect.label(),
            Self::Partition { .. } => "partition",
            Self::OneWay { .. } => "one-way",
            Self::Isolate { .. } => "isolate",
            Self::Split { .. } => "split",
            Self::Crash { .. } => "crash",
            Self::Wipe { .. } => "wipe",
            Self::Sleep => "sleep",
            Self::Pause { .. } => "pause",
            Self::Clock { .. } => "clock",
            Self::Disk { .. } => "disk",
            Self::SlowExecution { .. } => "slow-execution",
            Self::Byzantine { behaviour, .. } => behaviour.label(),
            Self::Amnesia { .. } => "amnesia",
            Self::Corrupt { .. } => "corrupt",
            Self::Twins { .. } => "twins",
        }
    }

    /// Returns the affected replica; `None` for faults of the network.
    pub const fn replica(&self) -> Option<ReplicaId> {
        match self {
            Self::Isolate { replica }
            | Self::Crash { replica }
            | Self::Wipe { replica }
            | Self::Pause { replica }
            | Self::Clock { replica, .. }
            | Self::Disk { replica, .. }
            | Self::SlowExecution { replica, .. }
            | Self::Byzantine { replica, .. }
            | Self::Amnesia { replica }
            | Self::Corrupt { replica }
            | Self::Twins { replica, .. } => Some(*replica),
            Self::Link(_) | Self::Partition { .. } | Self::OneWay { .. } | Self::Split { .. } | Self::Sleep => None,
        }
    }

    /// Returns the replicas that may violate safety by it. One that lost or discarded its disk may contradict its earlier messages.
    pub const fn byzantine(&self) -> Option<ReplicaId> {
        match self {
            Self::Byzantine { replica, .. }
            | Self::Amnesia { replica }
            | Self::Corrupt { replica }
            | Self::Wipe { replica }
            | Self::Twins { replica, .. } => Some(*replica),
            _ => None,
        }
    }

    fn check(&self, replicas: usize) -> Result<(), String> {
        let known = |list: &[ReplicaId]| match list.iter().find(|replica| replica.index() >= replicas) {
            Some(unknown) => Err(format!("{unknown} does not exist; the network has {replicas}, numbered from 0")),
            None => Ok(()),
        };
        if let Some(replica) = self.replica() {
            known(&[replica])?;
        }
        match self {
            Self::Link(fault) => {
                known(&fault.from)?;
                known(&fault.to)?;
                fault.effect.check()
            }
            Self::Partition { groups } => {
                groups.iter().try_for_each(|group| known(group))?;
                let mut all: Vec<_> = groups.concat();
                all.sort_unstable();
                match all.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => Err(format!("{} is in two groups; list it once", pair[0])),
                    None => Ok(()),
                }
            }
            Self::OneWay { from, to } => known(from).and_then(|()| known(to)),
            Self::Split { size } if *size as usize > replicas => {
                Err(format!("size {size} is more than the network's {replicas} replicas"))
            }
            Self::Clock { drift_ppm, .. } if drift_ppm.unsigned_abs() > 500_000 => {
                Err(format!("drift_ppm is {drift_ppm}; at most 500000 either way, half as fast or half again"))
            }
            Self::Disk { delay, .. } | Self::SlowExecution { delay, .. } => delay.check(),
            Self::Byzantine { behaviour, when, .. } => {
                if let Behaviour::SelectiveSend { to } | Behaviour::DoubleVote { to } = behaviour {
                    known(to)?;
                }
                behaviour.check()?;
                when.check()
            }
            Self::Twins { group, .. } => known(group),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
