//! Four replicas of one protocol without a simulator: the input determines what is delivered, lost, repeated and
//! forged, and when timers fire. Blocks are empty and never executed; seals are symbolic.

use arbitrary::Arbitrary;
use chainbox::{
    consensus::{
        AnyProtocol, Authenticator, ConsensusConfig, ConsensusKind, ConsensusMessage, Event, Protocol, Records,
        ReplicaId, SealScheme, ValidatorSet,
        testing::{Envelope, Fixture, Lab, genesis},
    },
    primitives::KeyPair,
};

const REPLICAS: u32 = 4;
const QUEUE_MAX: usize = 512;
const HISTORY: usize = 12;

/// A protocol, as the input names it.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Poa,
    Pos,
    Dpos,
    Pbft,
    Raft,
}

/// One operation. Numbers wrap around what there is to choose from.
#[derive(Arbitrary, Clone, Debug)]
pub enum Operation {
    Deliver { envelope: u16 },
    Repeat { envelope: u16, to: u8 },
    Lose { envelope: u16 },
    Timer { replica: u8, timer: u8 },
    Build { replica: u8 },
    Restart { replica: u8 },
    Forge { from: u8, to: u8, message: Vec<u8> },
}

/// The replicas and what is under way between them.
#[derive(Debug)]
pub struct Cluster {
    lab: Lab<ConfiguredProtocol>,
    /// Raft trusts its members: after a forgery it promises nothing. PoA has no finality to agree on.
    checks_agreement: bool,
}

/// A protocol that is chosen by its configuration.
#[derive(Clone, Debug)]
struct ConfiguredProtocol {
    config: ConsensusConfig,
    validators: ValidatorSet,
}

impl Fixture for ConfiguredProtocol {
    type Protocol = AnyProtocol;
    const CHECKS_STEPS: bool = true;
    const FETCHES_AT_ONCE: bool = false;

    fn recover(lab: &Lab<Self>, index: usize, records: &Records) -> AnyProtocol {
        let (authenticator, signer) = (lab.authenticator.clone(), Some(lab.signers[index].clone()));
        let Self { config, validators } = lab.fixture.clone();
        config.recover(&lab.genesis, validators, records, authenticator, signer).expect("records of its own")
    }

    fn start(lab: &Lab<Self>, index: usize) -> AnyProtocol {
        let (authenticator, signer) = (lab.authenticator.clone(), Some(lab.signers[index].clone()));
        let Self { config, validators } = lab.fixture.clone();
        config.start(&lab.genesis, validators, authenticator, signer).expect("default parameters")
    }
}

impl Kind {
    /// Every protocol.
    pub const ALL: [Self; 5] = [Self::Poa, Self::Pos, Self::Dpos, Self::Pbft, Self::Raft];

    /// Its configuration, with blocks by time.
    pub fn config(self) -> ConsensusConfig {
        let kind = match self {
            Self::Poa => ConsensusKind::Poa,
            Self::Pos => ConsensusKind::Pos,
            Self::Dpos => ConsensusKind::Dpos,
            Self::Pbft => ConsensusKind::Pbft,
            Self::Raft => ConsensusKind::Raft,
        };
        let mut section = kind.on_demand().section();
        section["period"] = 1.into();
        ConsensusConfig::deserialize_section(&section).expect("a period is a parameter of each")
    }
}

impl Cluster {
    /// Replicas at genesis, started.
    pub fn new(kind: Kind) -> Self {
        let authenticator = Authenticator::new(SealScheme::Symbolic, 1);
        let keys: Vec<_> = (1..=REPLICAS).map(|number| key(number as u8)).collect();
        let roster: Vec<_> = keys.iter().map(KeyPair::address).collect();
        let validators = ValidatorSet::equal(roster.iter().copied()).expect("four keys");
        let config = kind.config().with_roster(&roster, Vec::new());
        let signers = keys.iter().map(|key| authenticator.signer(key)).collect();
        let fixture = ConfiguredProtocol { config, validators };
        let lab = Lab::assemble(fixture, genesis(1_000), authenticator, signers);
        Self { lab, checks_agreement: !matches!(kind, Kind::Poa) }
    }

    /// Replicas that have run for a while with everything delivered at once.
    pub fn with_history(kind: Kind) -> Self {
        let mut cluster = Self::new(kind);
        for _ in 0..HISTORY {
            while !cluster.lab.queue.is_empty() {
                cluster.apply(Operation::Deliver { envelope: 0 });
            }
            for number in 0..REPLICAS as u8 {
                cluster.apply(Operation::Build { replica: number });
                cluster.apply(Operation::Timer { replica: number, timer: 0 });
            }
        }
        cluster
    }

    /// Recovers the first replica from its records with these changes. Each change is of a record by its place, a byte
    /// of it, and what that is combined with; past its end, the record is cut off there instead.
    pub fn recover_from_changed(&self, changes: &[(u8, u16, u8)]) {
        let mut records = self.lab.nodes[0].records.clone();
        for (record, at, by) in changes {
            let Some(record) = place((*record).into(), records.len()) else { return };
            let value = records.values_mut().nth(record).expect("within");
            let mut bytes = value.to_vec();
            match bytes.get_mut(usize::from(*at)) {
                Some(byte) => *byte ^= by,
                None => bytes.truncate(usize::from(*by)),
            }
            *value = bytes.into();
        }
        let ConfiguredProtocol { config, validators } = self.lab.fixture.clone();
        let (authenticator, signer) = (self.lab.authenticator.clone(), Some(self.lab.signers[0].clone()));
        if let Ok(mut protocol) = config.recover(&self.lab.genesis, validators, &records, authenticator, signer) {
            protocol.step(Event::Start, &mut Vec::new());
        }
    }

    /// Applies an operation and everything that follows at once.
    pub fn apply(&mut self, operation: Operation) {
        self.dispatch(operation);
        self.lab.queue.truncate(QUEUE_MAX);
        assert!(!self.checks_agreement || self.lab.violations.is_empty(), "{:?}", self.lab.violations);
    }

    fn dispatch(&mut self, operation: Operation) {
        let lab = &mut self.lab;
        let is_raft = matches!(lab.fixture.config, ConsensusConfig::Raft(_));
        match operation {
            Operation::Deliver { envelope } => {
                if let Some(envelope) = place(envelope.into(), lab.queue.len()) {
                    let envelope = lab.queue.swap_remove_back(envelope).expect("within");
                    lab.transmit(envelope);
                }
            }
            Operation::Repeat { envelope, to } => {
                if let Some(envelope) = place(envelope.into(), lab.queue.len()) {
                    let (original, to) = (lab.queue[envelope].clone(), replica(to));
                    // The receiver gets it twice, or another replica gets what was not for it.
                    self.checks_agreement &= to == original.to || !is_raft;
                    lab.transmit(Envelope { to, ..original });
                }
            }
            Operation::Lose { envelope } => {
                if let Some(envelope) = place(envelope.into(), lab.queue.len()) {
                    lab.queue.swap_remove_back(envelope);
                }
            }
            Operation::Timer { replica: number, timer } => {
                let index = replica(number).index();
                let timers = &lab.nodes[index].timers;
                if let Some(timer) = place(timer.into(), timers.len()) {
                    let timer = *timers.keys().nth(timer).expect("within");
                    lab.fire(index, timer);
                }
            }
            Operation::Build { replica: number } => {
                lab.complete_build(replica(number).index());
            }
            Operation::Restart { replica: number } => lab.restart(replica(number).index()),
            Operation::Forge { from, to, message } => {
                if let Ok(message) = postcard::from_bytes::<ConsensusMessage>(&message) {
                    self.checks_agreement &= !is_raft;
                    lab.transmit(Envelope::message(replica(from), replica(to), message));
                }
            }
        }
    }
}

fn key(number: u8) -> KeyPair {
    let mut secret = [0; 32];
    secret[31] = number;
    KeyPair::from_bytes(&secret.into()).expect("a small number is a key")
}

const fn replica(number: u8) -> ReplicaId {
    ReplicaId::new(number as u32 % REPLICAS)
}

fn place(number: usize, len: usize) -> Option<usize> {
    number.checked_rem(len)
}
