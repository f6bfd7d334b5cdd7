//! Four replicas of one protocol without a simulator: the input says what is delivered, lost, repeated, forged, and when
//! timers fire. Blocks are empty and never executed; seals are symbolic.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use alloy_primitives::{B256, U256};
use arbitrary::Arbitrary;
use chainbox::{
    chain::Block,
    consensus::{
        AnyProtocol, Authenticator, BlockId, BuildRequest, ChainEvent, ConsensusConfig, ConsensusKind, Effect, Event,
        Message, Protocol, Recipients, Records, ReplicaId, SealScheme, Signer, TimerId, ValidatorSet, Verdict,
    },
    primitives::{Bytes, Header, Height, KeyPair, Timestamp},
};

const REPLICAS: u32 = 4;
const WIRE_MAX: usize = 512;
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

/// One thing that happens. Numbers wrap around what there is to choose from.
#[derive(Arbitrary, Clone, Debug)]
pub enum Act {
    Deliver { parcel: u16 },
    Repeat { parcel: u16, to: u8 },
    Lose { parcel: u16 },
    Timer { replica: u8, timer: u8 },
    Build { replica: u8 },
    Restart { replica: u8 },
    Forge { from: u8, to: u8, message: Vec<u8> },
}

/// The replicas and what is under way between them.
#[derive(Debug)]
pub struct Cluster {
    config: ConsensusConfig,
    genesis: Block,
    validators: ValidatorSet,
    authenticator: Authenticator,
    replicas: Vec<Replica>,
    wire: Vec<Parcel>,
    blocks: BTreeMap<B256, Arc<Block>>,
    /// What somebody called final.
    finalized: BTreeMap<Height, B256>,
    /// Raft takes every member at its word: after a forgery it promises nothing.
    checks_agreement: bool,
}

#[derive(Debug)]
struct Replica {
    signer: Signer,
    machine: AnyProtocol,
    records: Records,
    armed: BTreeSet<TimerId>,
    wanted: Option<BuildRequest>,
}

#[derive(Clone, Debug)]
struct Parcel {
    from: ReplicaId,
    to: ReplicaId,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Message(Message),
    Synced(Arc<Block>),
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
        let genesis =
            Block::new(Header { timestamp: 1_000, ..Header::default() }, Vec::new(), Bytes::new(), Vec::new());
        let authenticator = Authenticator::new(SealScheme::Symbolic, 1);
        let keys: Vec<_> = (1..=REPLICAS).map(|number| key(number as u8)).collect();
        let roster: Vec<_> = keys.iter().map(KeyPair::address).collect();
        let validators = ValidatorSet::equal(roster.iter().copied()).expect("four keys");
        let config = kind.config().with_roster(&roster, Vec::new());
        let start = |key: &KeyPair| {
            let signer = authenticator.signer(key);
            let machine = config.start(&genesis, validators.clone(), authenticator.clone(), Some(signer.clone()));
            let machine = machine.expect("usual parameters");
            Replica { signer, machine, records: Records::new(), armed: BTreeSet::new(), wanted: None }
        };
        let replicas = keys.iter().map(start).collect();
        let finalized = [(Height::GENESIS, genesis.hash())].into();
        let (wire, blocks) = (Vec::new(), [(genesis.hash(), Arc::new(genesis.clone()))].into());
        let checks_agreement = !matches!(kind, Kind::Poa);
        let mut cluster =
            Self { config, genesis, validators, authenticator, replicas, wire, blocks, finalized, checks_agreement };
        (0..REPLICAS).for_each(|number| cluster.give(ReplicaId::new(number), Event::Start));
        cluster
    }

    /// Replicas that have run for a while with everything delivered at once.
    pub fn with_history(kind: Kind) -> Self {
        let mut cluster = Self::new(kind);
        for _ in 0..HISTORY {
            while !cluster.wire.is_empty() {
                cluster.act(Act::Deliver { parcel: 0 });
            }
            for number in 0..REPLICAS as u8 {
                cluster.act(Act::Build { replica: number });
                cluster.act(Act::Timer { replica: number, timer: 0 });
            }
        }
        cluster
    }

    /// The records of the first replica, changed: each change is of a record by its place, a byte of it, and what it is
    /// combined with; at the end, a record is cut off there instead.
    pub fn recover_from_changed(&self, changes: &[(u8, u16, u8)]) {
        let first = &self.replicas[0];
        let mut records = first.records.clone();
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
        let (validators, authenticator) = (self.validators.clone(), self.authenticator.clone());
        let signer = Some(first.signer.clone());
        if let Ok(mut machine) = self.config.recover(&self.genesis, validators, &records, authenticator, signer) {
            machine.step(Event::Start, &mut Vec::new());
        }
    }

    /// Lets it happen, and everything that follows at once.
    pub fn act(&mut self, act: Act) {
        match act {
            Act::Deliver { parcel } => {
                if let Some(place) = place(parcel.into(), self.wire.len()) {
                    let Parcel { from, to, content } = self.wire.swap_remove(place);
                    self.deliver(from, to, content);
                }
            }
            Act::Repeat { parcel, to } => {
                if let Some(place) = place(parcel.into(), self.wire.len()) {
                    let Parcel { from, content, .. } = self.wire[place].clone();
                    let to = replica(to);
                    // Whoever it was for hears it twice; somebody else hears what was not for it.
                    self.checks_agreement &=
                        to == self.wire[place].to || !matches!(self.config, ConsensusConfig::Raft(_));
                    self.deliver(from, to, content);
                }
            }
            Act::Lose { parcel } => {
                if let Some(place) = place(parcel.into(), self.wire.len()) {
                    self.wire.swap_remove(place);
                }
            }
            Act::Timer { replica: number, timer } => {
                let replica = replica(number);
                let armed = &mut self.replicas[replica.index()].armed;
                if let Some(place) = place(timer.into(), armed.len()) {
                    let timer = *armed.iter().nth(place).expect("within");
                    armed.remove(&timer);
                    self.give(replica, Event::Timer(timer));
                }
            }
            Act::Build { replica: number } => {
                let replica = replica(number);
                if let Some(request) = self.replicas[replica.index()].wanted.take() {
                    let block = Arc::new(build(&request));
                    self.give(replica, Event::BlockBuilt { ticket: request.ticket, block });
                }
            }
            Act::Restart { replica: number } => self.restart(replica(number)),
            Act::Forge { from, to, message } => {
                if let Ok(message) = postcard::from_bytes::<Message>(&message) {
                    self.checks_agreement &= !matches!(self.config, ConsensusConfig::Raft(_));
                    self.deliver(replica(from), replica(to), Content::Message(message));
                }
            }
        }
    }

    fn deliver(&mut self, from: ReplicaId, to: ReplicaId, content: Content) {
        let event = match content {
            Content::Message(message) => Event::Message { from, message },
            Content::Synced(block) => Event::BlockSynced { from, block },
        };
        self.give(to, event);
    }

    fn restart(&mut self, replica: ReplicaId) {
        let Replica { signer, records, .. } = &self.replicas[replica.index()];
        let (validators, authenticator) = (self.validators.clone(), self.authenticator.clone());
        let recovered = self.config.recover(&self.genesis, validators, records, authenticator, Some(signer.clone()));
        let machine = recovered.expect("what it wrote itself");
        let again = &mut self.replicas[replica.index()];
        (again.machine, again.wanted) = (machine, None);
        again.armed.clear();
        self.give(replica, Event::Start);
    }

    /// Steps `replica`, and answers its disk, its draws and its judge at once.
    fn give(&mut self, replica: ReplicaId, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            let machine = &mut self.replicas[replica.index()].machine;
            let before = machine.digest();
            let mut effects = Vec::new();
            machine.step(event, &mut effects);
            if effects.iter().any(|effect| matches!(effect, Effect::Reject(_))) {
                assert_eq!(machine.digest(), before, "what is refused changes nothing: {effects:?}");
            }
            for effect in effects {
                self.carry_out(replica, effect, &mut inbox);
            }
        }
    }

    fn carry_out(&mut self, replica: ReplicaId, effect: Effect, inbox: &mut VecDeque<Event>) {
        let own = &mut self.replicas[replica.index()];
        match effect {
            Effect::Send { to, message, .. } => {
                let to = match to {
                    Recipients::Others => (0..REPLICAS).map(ReplicaId::new).filter(|to| *to != replica).collect(),
                    Recipients::One(one) => vec![one],
                };
                let content = Content::Message(message);
                self.wire.extend(to.into_iter().map(|to| Parcel { from: replica, to, content: content.clone() }));
                self.wire.truncate(WIRE_MAX);
            }
            Effect::ArmTimer { timer, .. } => drop(own.armed.insert(timer)),
            Effect::DisarmTimer(timer) => drop(own.armed.remove(&timer)),
            Effect::Persist { ticket, records } => {
                for record in records {
                    match record.value.is_empty() {
                        true => own.records.remove(&record.key),
                        false => own.records.insert(record.key, record.value),
                    };
                }
                inbox.push_back(Event::Persisted(ticket));
            }
            Effect::Build(request) => own.wanted = Some(request),
            Effect::CancelBuild => own.wanted = None,
            Effect::Validate { block } => {
                self.blocks.insert(block.hash(), block.clone());
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::VALID });
            }
            Effect::Draw { ticket, .. } => inbox.push_back(Event::Random { ticket, value: 0 }),
            Effect::Fetch { block, from } => {
                if let Some(block) = self.blocks.get(&block.hash).cloned() {
                    self.wire.push(Parcel { from, to: replica, content: Content::Synced(block) });
                }
            }
            Effect::Chain(ChainEvent::Final { finality, .. }) if self.checks_agreement => {
                let final_block = finality.finalized;
                let first = *self.finalized.entry(final_block.height).or_insert(final_block.hash);
                assert_eq!(first, final_block.hash, "two final blocks at height {}", final_block.height);
            }
            _ => {}
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

fn build(request: &BuildRequest) -> Block {
    let header = Header {
        parent_hash: request.parent.hash,
        number: request.parent.height.get() + 1,
        timestamp: request.timestamp_min.max(Timestamp::from_secs(1)).as_secs(),
        beneficiary: request.beneficiary,
        difficulty: U256::from(request.difficulty),
        mix_hash: request.mix_hash,
        extra_data: Block::extra_data_of(&request.payload).unwrap_or_default(),
        ..Header::default()
    };
    Block::new(header, Vec::new(), request.payload.clone(), Vec::new())
}
