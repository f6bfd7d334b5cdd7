//! Faults as data: what goes wrong in a run, when, and for how long.
//!
//! A [`FaultPlan`] is a list of timed faults, each of which can be left out on its own: that is what lets a failing plan
//! shrink. It is written and read as TOML or JSON, with times in milliseconds and probabilities in thousandths:
//!
//! ```
//! use chainbox::sim::FaultPlan;
//! let plan = FaultPlan::from_toml(r#"
//!     version = 1
//!
//!     [[faults]]
//!     at_ms = 3000
//!     for_ms = 4000
//!     what = { partition = { groups = [[0, 1], [2, 3]] } }
//!
//!     [[faults]]
//!     at_ms = 5000
//!     for_ms = 500
//!     what = { crash = { replica = 2 } }
//! "#)?;
//! plan.check(4)?;
//! assert_eq!(FaultPlan::from_json(&plan.to_json())?, plan);
//! # Ok::<(), chainbox::sim::PlanError>(())
//! ```

mod behaviour;
mod error;
mod link;
mod random;
#[cfg(any(test, feature = "testing"))]
mod strategy;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::consensus::ReplicaId;

pub use behaviour::{Behaviour, Trigger};
pub use error::PlanError;
pub use link::{Delay, LinkEffect, LinkFault};

/// The version of the format that this crate writes and reads.
pub const PLAN_VERSION: u32 = 1;
/// Most faults that a plan may have.
pub const FAULTS_MAX: usize = 4_096;
/// Latest time in a plan, and longest fault: a year.
const MILLIS_MAX: u64 = 365 * 24 * 3_600 * 1_000;

/// Names a fault of one network: its place in the plan, or a number above for one that was made by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

impl FaultId {
    /// The fault with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What goes wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Of the format; [`PLAN_VERSION`].
    #[serde(deserialize_with = "known_version")]
    pub version: u32,
    /// In any order; each is independent of the others.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// One fault and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When it begins, in milliseconds of virtual time.
    pub at_ms: u64,
    /// How long it lasts, in milliseconds; without it, until the network is healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// What happens.
    pub what: FaultKind,
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum FaultKind {
    /// Messages on some links fare badly.
    Link(LinkFault),
    /// Replicas of different groups don't hear each other; those that are not listed form one more group.
    Partition {
        /// Each replica in one group at most.
        groups: Vec<Vec<ReplicaId>>,
    },
    /// What some say does not reach others; the way back is open.
    OneWay {
        /// Whose messages are lost.
        from: Vec<ReplicaId>,
        /// On the way to whom.
        to: Vec<ReplicaId>,
    },
    /// One replica hears nobody and is heard by nobody.
    Isolate {
        /// Which.
        replica: ReplicaId,
    },
    /// A partition in two, one part of this size, its members drawn when it begins.
    Split {
        /// Replicas in the first part.
        size: u32,
    },
    /// A replica loses its memory at once and comes back, when the fault ends, with what its disk has.
    Crash {
        /// Which.
        replica: ReplicaId,
    },
    /// The same, and its disk is empty when it comes back.
    Wipe {
        /// Which.
        replica: ReplicaId,
    },
    /// A replica stands still; what reaches it waits until the fault ends.
    Pause {
        /// Which.
        replica: ReplicaId,
    },
    /// A replica's clock is wrong.
    Clock {
        /// Whose.
        replica: ReplicaId,
        /// Ahead (or, negative, behind), in milliseconds.
        #[serde(default)]
        offset_ms: i64,
        /// Runs fast (or, negative, slow), in millionths.
        #[serde(default)]
        drift_ppm: i64,
    },
    /// Writes take time to become durable, in order; a crash before loses them, the oldest of the lost ones torn.
    Disk {
        /// Whose.
        replica: ReplicaId,
        /// How long a write takes.
        delay: Delay,
    },
    /// A replica misbehaves.
    Byzantine {
        /// Which.
        replica: ReplicaId,
        /// How.
        behaviour: Behaviour,
        /// On which occasions.
        #[serde(default)]
        when: Trigger,
    },
    /// A replica forgets everything that it made durable while the fault lasted, and restarts.
    Amnesia {
        /// Which.
        replica: ReplicaId,
    },
    /// Bits of what a replica's disk keeps are flipped while it lasts: they are told by their checksums when the replica
    /// restarts, which happens at the end of the fault unless it was down before. It then trusts nothing of its disk and
    /// begins anew, as one that was wiped.
    Corrupt {
        /// Whose.
        replica: ReplicaId,
    },
    /// A replica's key runs on two machines with one past ("Twins: BFT Systems Made Robust", Bano et al., 2021). One is
    /// connected to `group`, the other to everybody else. Of two such replicas the first machines hear each other, and the
    /// second ones.
    Twins {
        /// Whose.
        replica: ReplicaId,
        /// Whom the first of the two hears and reaches.
        group: Vec<ReplicaId>,
    },
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self { version: PLAN_VERSION, faults: Vec::new() }
    }
}

impl FaultPlan {
    /// A plan of these faults.
    pub fn new(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self { faults: faults.into_iter().collect(), ..Self::default() }
    }

    /// The plan with one more fault, from `at_ms` on, for `for_ms` milliseconds.
    #[must_use]
    pub fn with(mut self, at_ms: u64, for_ms: u64, what: FaultKind) -> Self {
        self.faults.push(Fault { at_ms, for_ms: Some(for_ms), what });
        self
    }

    /// The plan with one more fault, from `at_ms` on, until the network is healed.
    #[must_use]
    pub fn with_lasting(mut self, at_ms: u64, what: FaultKind) -> Self {
        self.faults.push(Fault { at_ms, for_ms: None, what });
        self
    }

    /// Whether nothing goes wrong.
    pub const fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Replicas that misbehave at some time, in ascending order: nothing is promised to them or by them.
    pub fn byzantine(&self) -> Vec<ReplicaId> {
        let mut replicas: Vec<_> = self.faults.iter().filter_map(|fault| fault.what.byzantine()).collect();
        replicas.sort_unstable();
        replicas.dedup();
        replicas
    }

    /// Checks the plan for a network of so many replicas.
    ///
    /// # Errors
    /// [`PlanError`]: the first fault that can't be, and why.
    pub fn check(&self, replicas: usize) -> Result<(), PlanError> {
        Head { version: self.version.into() }.check()?;
        if self.faults.len() > FAULTS_MAX {
            return Err(PlanError::TooMany { got: self.faults.len(), limit: FAULTS_MAX });
        }
        self.faults.iter().enumerate().try_for_each(|(index, fault)| fault.check(index, replicas))
    }

    /// Reads TOML. The plan is not checked against a network yet; see [`FaultPlan::check`].
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
        // Every field is a table, a list, a string or an integer below 2^63: nothing that TOML has no form for.
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

/// What plans of every version have: it is read before the rest, which another version may have in another form.
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

/// The version of a plan inside of another file.
fn known_version<'de, D: Deserializer<'de>>(reader: D) -> Result<u32, D::Error> {
    let version = u64::deserialize(reader)?;
    Head { version }.check().map_err(D::Error::custom)?;
    Ok(PLAN_VERSION)
}

impl Fault {
    fn check(&self, index: usize, replicas: usize) -> Result<(), PlanError> {
        for (field, millis) in [("at_ms", Some(self.at_ms)), ("for_ms", self.for_ms)] {
            if millis.is_some_and(|millis| millis > MILLIS_MAX) {
                return Err(PlanError::TooLong { index, field, limit: MILLIS_MAX });
            }
        }
        self.what.check(replicas).map_err(|reason| PlanError::Fault { index, kind: self.what.label(), reason })
    }
}

impl FaultKind {
    /// The kind, as plans, traces and digests name it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Link(fault) => fault.effect.label(),
            Self::Partition { .. } => "partition",
            Self::OneWay { .. } => "one-way",
            Self::Isolate { .. } => "isolate",
            Self::Split { .. } => "split",
            Self::Crash { .. } => "crash",
            Self::Wipe { .. } => "wipe",
            Self::Pause { .. } => "pause",
            Self::Clock { .. } => "clock",
            Self::Disk { .. } => "disk",
            Self::Byzantine { behaviour, .. } => behaviour.label(),
            Self::Amnesia { .. } => "amnesia",
            Self::Corrupt { .. } => "corrupt",
            Self::Twins { .. } => "twins",
        }
    }

    /// The one replica that it happens to; `None` for faults of the network.
    pub const fn replica(&self) -> Option<ReplicaId> {
        match self {
            Self::Isolate { replica }
            | Self::Crash { replica }
            | Self::Wipe { replica }
            | Self::Pause { replica }
            | Self::Clock { replica, .. }
            | Self::Disk { replica, .. }
            | Self::Byzantine { replica, .. }
            | Self::Amnesia { replica }
            | Self::Corrupt { replica }
            | Self::Twins { replica, .. } => Some(*replica),
            Self::Link(_) | Self::Partition { .. } | Self::OneWay { .. } | Self::Split { .. } => None,
        }
    }

    /// Who breaks promises by it. A replica that lost its disk, or can't trust it, does, too: it may contradict what it said.
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
            Self::Disk { delay, .. } => delay.check(),
            Self::Byzantine { behaviour, when, .. } => {
                if let Behaviour::SelectiveSend { to } = behaviour {
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
