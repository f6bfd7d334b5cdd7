//! Protocols with a planted bug, to see what a finding looks like.
//!
//! The bugs are around the protocols, not in them: what a replica reads from its disk, hears and says is changed by a wrapper, which runs as a
//! protocol of one's own. So the protocols themselves carry no switch. Bugs inside the protocols are in docs/mutations.md.

use chainbox::{
    consensus::{
        AnyProtocol, BlockId, ConsensusConfig, ConsensusKind, Effect, Encoder, Event, Finality, OwnProtocol, Protocol,
        Records, ReplicaId, ReplicaStart, RoundStatus, TimerId, ValidatorSet,
    },
    primitives::Address,
    sim::{CampaignSetup, Regression, RegressionError, default_sim_config},
};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DemoBug {
    /// Name on the command line and in files.
    pub(crate) name: &'static str,
    /// What is wrong.
    pub(crate) about: &'static str,
    pub(crate) protocol: ConsensusKind,
    fault: Planted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    /// A replica that restarts does not find the records whose keys begin so.
    Forgets(&'static [&'static [u8]]),
    /// A timer never fires.
    Ignores(TimerId),
}

/// Every planted bug.
pub(crate) const ALL: [DemoBug; 3] = [
    DemoBug {
        name: "pbft-forgets-promises",
        about: "a replica that restarts forgets what it prepared",
        protocol: ConsensusKind::Pbft,
        fault: Planted::Forgets(&[b"p/", b"q/"]),
    },
    DemoBug {
        name: "pbft-never-suspects",
        about: "no replica suspects a silent primary",
        protocol: ConsensusKind::Pbft,
        fault: Planted::Ignores(TimerId::new(2)),
    },
    DemoBug {
        name: "raft-forgets-entries",
        about: "a replica that restarts forgets the entries of its log",
        protocol: ConsensusKind::Raft,
        fault: Planted::Forgets(&[b"entry/"]),
    },
];

/// Returns the bug of this name.
pub(crate) fn find(name: &str) -> Option<DemoBug> {
    ALL.into_iter().find(|bug| bug.name == name)
}

impl DemoBug {
    fn own(self) -> OwnProtocol {
        let config = default_sim_config(self.protocol);
        let period = config.period();
        OwnProtocol::new(self.name, move |start| DemoReplica::new(self.fault, &config, start)).with_period(period)
    }

    /// Returns the default setup of the protocol, with the bug.
    pub(crate) fn setup(self) -> CampaignSetup {
        let sound = CampaignSetup::of(default_sim_config(self.protocol));
        CampaignSetup { consensus: self.own().into(), candidates: 0, observers: 0, ..sound }
    }
}

/// Reads a regression file, also one of a planted bug.
pub(crate) fn read_regression(text: &str) -> Result<Regression, RegressionError> {
    let file = toml::from_str::<toml::Table>(text).ok();
    let consensus = file.as_ref().and_then(|file| file.get("setup")?.get("consensus"));
    let name = consensus.filter(|section| section.get("protocol").and_then(|name| name.as_str()) == Some("own"));
    let bug = name.and_then(|section| find(section.get("name")?.as_str()?));
    bug.map_or_else(|| Regression::from_toml(text), |bug| Regression::from_toml_of_own(text, &bug.own()))
}

/// A replica with a planted bug.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DemoReplica {
    inner: AnyProtocol,
    /// Number of this replica; `None` for one that observes.
    replica: Option<ReplicaId>,
    /// Addresses of the validators at genesis, by replica.
    addresses: Vec<Address>,
    ignored: Option<TimerId>,
}

impl DemoReplica {
    fn new(fault: Planted, config: &ConsensusConfig, start: ReplicaStart<'_>) -> Result<Self, String> {
        let (forgotten, ignored) = match fault {
            Planted::Forgets(prefixes) => (prefixes, None),
            Planted::Ignores(timer) => (&[][..], Some(timer)),
        };
        let is_kept = |key: &[u8]| !forgotten.iter().any(|prefix| key.starts_with(prefix));
        let kept = start.records.iter().filter(|(key, _)| is_kept(key));
        let records: Records = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        let (replica, addresses) = (start.replica(), start.addresses.to_vec());
        let config = config.clone().with_roster(start.addresses, Vec::new());
        let (validators, signer) = (start.validators.clone(), start.signer.cloned());
        let authenticator = start.authenticator.clone();
        let inner = match records.is_empty() {
            true => config.start(start.genesis, validators, authenticator, signer),
            false => config.recover(start.genesis, validators, &records, authenticator, signer),
        };
        Ok(Self { inner: inner.map_err(|error| error.to_string())?, replica, addresses, ignored })
    }
}

impl Protocol for DemoReplica {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Timer(timer) if Some(timer) == self.ignored => {}
            event => self.inner.step(event, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        self.inner.encode(out);
    }

    fn head(&self) -> BlockId {
        self.inner.head()
    }

    fn finality(&self) -> Finality {
        self.inner.finality()
    }

    fn validators(&self) -> ValidatorSet {
        self.inner.validators()
    }

    fn status(&self) -> Option<RoundStatus> {
        let place = |address: &Address| self.addresses.iter().position(|one| one == address);
        let replica_of =
            |address: &Address| place(address).and_then(|place| u32::try_from(place).ok()).map(ReplicaId::new);
        self.inner.round_status(self.replica?, &replica_of)
    }
}

#[cfg(test)]
mod tests {
    use chainbox::sim::Campaign;

    use super::*;

    #[test]
    fn every_planted_bug_is_found_and_its_file_is_read() {
        for bug in ALL {
            assert_eq!(find(bug.name), Some(bug));
            let setup = bug.setup();
            let report = Campaign::new(setup.clone(), 0..400).first_failure();
            let report = report.unwrap_or_else(|| panic!("{} is not found", bug.name));
            assert!(report.violation().is_some(), "{}: {:?}", bug.name, report.outcome);
            let file = Regression::mended(bug.about, setup, &report).to_toml().unwrap();
            let (again, is_mended) = read_regression(&file).unwrap().replay();
            assert_eq!((again, is_mended), (report, false), "{}", bug.name);
        }
        assert_eq!(find("pbft-quorum"), None);
    }
}
