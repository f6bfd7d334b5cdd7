//! The hot operation of a governor: votes that are cast, each by another account, on one proposal.
//!
//! Execution alone, as in `vm.rs`: without signatures, roots or commits. `voters` accounts hold votes of an erc20-token.

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, Bytes, Gas, Height, U256, keccak256},
    state::{CommitId, Journal, MemoryState, StateStore},
    templates::{
        Erc20Features, Erc20Params, GovernanceDaoParams, builtin,
        erc20::interface::{delegateCall, transferCall},
        governance_dao::interface::{castVoteCall, proposalVotesCall, proposeCall},
    },
    vm::{BlockContext, Message, execute},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const VOTERS: u64 = 1_000;
const UNITS: U256 = U256::from_limbs([5, 0, 0, 0]);
const GAS: Gas = Gas::new(10_000_000);

/// A vote under way.
#[derive(Clone)]
struct Voting {
    journal: Journal,
    block: BlockContext,
    governor: Address,
    proposal_id: U256,
}

fn voter(n: u64) -> Address {
    Address::from_slice(&keccak256(n.to_be_bytes())[12..])
}

impl Voting {
    fn new() -> Self {
        let founder = voter(VOTERS);
        let journal = Journal::new(MemoryState::new().view(CommitId::EMPTY).expect("the empty version"));
        let block = BlockContext { height: Height::new(1), gas_limit: Gas::MAX, ..Default::default() };
        let mut voting = Self { journal, block, governor: Address::ZERO, proposal_id: U256::ZERO };
        let features = Erc20Features { votes: true, ..Erc20Features::default() };
        let token = Erc20Params { features, ..Erc20Params::new("Gold", "GLD", UNITS * U256::from(VOTERS), founder) };
        let token = voting.create(founder, 0, &token.init_code());
        let dao = GovernanceDaoParams { voting_delay: 0, ..GovernanceDaoParams::new("Council", token) };
        voting.governor = voting.create(founder, 1, &dao.init_code());
        for to in (0..VOTERS).map(voter) {
            voting.call(founder, token, &transferCall { to, value: UNITS });
            voting.call(to, token, &delegateCall { delegatee: to });
        }
        voting.block.height = Height::new(2);
        let (targets, values) = (vec![founder], vec![U256::ZERO]);
        let propose = proposeCall { targets, values, calldatas: vec![Bytes::new()], description: "Nothing".to_owned() };
        voting.proposal_id = U256::from_be_slice(&voting.call(founder, voting.governor, &propose));
        voting.block.height = Height::new(3);
        voting
    }

    fn create(&mut self, from: Address, nonce: u64, init_code: &[u8]) -> Address {
        let message = Message::create(from, nonce, U256::ZERO, init_code, GAS);
        self.run(&message);
        message.to
    }

    fn call(&mut self, from: Address, to: Address, call: &impl SolCall) -> Bytes {
        self.run(&Message::call(from, to, U256::ZERO, &call.abi_encode(), GAS))
    }

    fn run(&mut self, message: &Message<'_>) -> Bytes {
        self.journal.begin_transaction();
        let result = execute(&mut self.journal, &self.block, builtin(), message).expect("memory");
        assert!(result.is_success(), "{result:?}");
        self.journal.take_logs();
        result.output
    }

    /// Casts the votes of all.
    fn cast_all(mut self) -> Self {
        for from in (0..VOTERS).map(voter) {
            self.call(from, self.governor, &castVoteCall { proposalId: self.proposal_id, support: 1 });
        }
        self
    }
}

fn votes(c: &mut Criterion) {
    let voting = Voting::new();
    let mut group = c.benchmark_group("execute_cast_vote");
    group.throughput(Throughput::Elements(VOTERS)).sample_size(20);
    group.bench_function(format!("voters={VOTERS}"), |b| {
        b.iter_batched(|| voting.clone(), Voting::cast_all, BatchSize::PerIteration);
    });
    group.finish();
    let mut cast = voting.cast_all();
    let counted = cast.call(voter(0), cast.governor, &proposalVotesCall { proposalId: cast.proposal_id });
    assert_eq!(U256::from_be_slice(&counted[32..64]), UNITS * U256::from(VOTERS), "all in favour");
}

criterion_group!(benches, votes);
criterion_main!(benches);
