//! What the blocks of a network say of its validators' duties and of its figures, counted by the tests themselves.

use std::{collections::BTreeSet, sync::Arc};

use chainbox::{
    chain::Block,
    consensus::{Authenticator, dpos, pbft, pos, raft},
    node::BlockRef,
    platform::Blockchain,
    primitives::{Address, Height, U256},
};
use serde_json::{Value, json};

use crate::{
    metrics::figures_that_agree,
    network_world::{COUNT, World},
};

/// Slots of an epoch of proof of stake.
const EPOCH_SLOTS: u64 = 8;

impl World {
    /// The duties of all validators in a block, and those done, counted by the test itself. `members` are those of PBFT's committee.
    fn duties_of_block(&self, consensus: &str, height: u64, members: u64) -> (u64, u64) {
        let (block, parent) = (self.block(height), self.block(height - 1));
        let absent = absent_in(consensus, &block).len() as u64;
        match consensus {
            "proof-of-authority" => (1, u64::from(block.header().difficulty == U256::from(2))),
            "proof-of-stake" if height > 1 => {
                let slot = |block: &Block| pos::Payload::decode(block.protocol_payload()).unwrap().slot;
                (slot(&block) - slot(&parent), 1)
            }
            "delegated-proof-of-stake" if height > 1 => (1 + absent, 1),
            "pbft" => (members, members - absent),
            "raft" if height > 1 => {
                let term = |block: &Block| raft::Payload::decode(block.protocol_payload()).unwrap().term;
                (1 + term(&block) - term(&parent), 1)
            }
            _ => (1, 1),
        }
    }

    /// The route of metrics and `/metrics` say of the last 100 blocks what those blocks say.
    pub(crate) async fn figures_are_those_of_the_blocks(&self, consensus: &str) {
        let figures = figures_that_agree(&self.service, self.chain.id()).await;
        let head = self.height();
        let first = head.saturating_sub(100).max(1);
        let time = |height| self.block(height).header().timestamp;
        let secs = (time(head) - time(first)) as f64;
        let (mut all, mut in_window, mut prices, mut duties, mut done) = (0, 0, 0, 0, 0);
        let mut members = COUNT as u64;
        for height in 1..=head {
            let block = self.block(height);
            let count = block.transactions().len() as u64;
            all += count;
            // While the window begins with the chain, its first block counts.
            if height > first || first == 1 {
                in_window += count;
                let base_fee = block.base_fee().unwrap_or(0);
                prices += block.transactions().iter().map(|one| one.effective_gas_price(base_fee)).sum::<u128>();
                let (had, did) = self.duties_of_block(consensus, height, members);
                (duties, done) = (duties + had, done + did);
            }
            if consensus == "pbft" {
                let next = pbft::Payload::decode(block.protocol_payload()).unwrap().successor;
                members = next.map_or(members, |set| set.len() as u64);
            }
        }
        assert_eq!((&figures["currentBlock"], &figures["totalTransactions"]), (&json!(head), &json!(all)));
        assert_eq!(figures["blockTime"], json!(secs / (head - first) as f64), "{figures}");
        assert_eq!(figures["transactionsPerSecond"], json!(in_window as f64 / secs), "{figures}");
        assert_eq!(figures["validatorUptime"], json!(100.0 * done as f64 / duties as f64), "{consensus}: {figures}");
        if let Some(price) = prices.checked_div(u128::from(in_window)) {
            let gwei: f64 = figures["averageGasPrice"].as_str().unwrap().trim_end_matches(" gwei").parse().unwrap();
            assert_eq!((gwei * 1e9).round(), price as f64, "{figures}");
        }
        let validators = self.ok("GET", &self.path("/validators?limit=100"), Value::Null).await;
        let active = validators.as_array().unwrap().iter().filter(|one| one["validates"] == true).count();
        assert_eq!(figures["activeValidators"], json!(active), "{validators}");
    }
}

pub(crate) fn block_at(chain: &Blockchain, height: u64) -> Arc<Block> {
    chain.node().view().block(BlockRef::Number(Height::new(height))).unwrap().block().clone()
}

/// Whom a block reports as absent.
fn absent_in(consensus: &str, block: &Block) -> Vec<Address> {
    let payload = block.protocol_payload();
    match consensus {
        "delegated-proof-of-stake" => dpos::Payload::decode(payload).unwrap().absent,
        "pbft" => pbft::Payload::decode(payload).unwrap().absent,
        _ => Vec::new(),
    }
}

/// What the validator with a key had to do in as many blocks, of which the newest has this height, and what it missed: counted by the tests
/// themselves. `signers` are the keys of all that validate, ascending.
pub(crate) fn duties_in(
    chain: &Blockchain,
    consensus: &str,
    (newest, blocks): (u64, u64),
    (signers, key): (&[Address], Address),
) -> (u64, u64) {
    if consensus == "proof-of-stake" {
        return votes_and_blocks(chain, (newest, blocks), key);
    }
    let mut found = (0, 0);
    for height in newest + 1 - blocks..=newest {
        let block = block_at(chain, height);
        let is_own = block.header().beneficiary == key;
        let is_turn = signers[(height % signers.len() as u64) as usize] == key;
        let is_missed = match consensus {
            "proof-of-authority" => is_turn && !is_own,
            _ => absent_in(consensus, &block).contains(&key),
        };
        let has_duty = match consensus {
            "proof-of-authority" => is_turn,
            "pbft" => true,
            "raft" => false,
            _ => is_own || is_missed,
        };
        found = (found.0 + u64::from(has_duty), found.1 + u64::from(is_missed));
    }
    found
}

/// As [`duties_in`], of proof of stake: the blocks that the validator sealed, and its votes of the epochs that end to be counted in these blocks.
/// Whether it voted is seen in the votes of all blocks before.
fn votes_and_blocks(chain: &Blockchain, (newest, blocks): (u64, u64), key: Address) -> (u64, u64) {
    let genesis = chain.node().view().block(BlockRef::Number(Height::GENESIS)).unwrap().hash();
    let authenticator = Authenticator::secp256k1().for_chain(genesis);
    let (mut duties, mut missed) = (0, 0);
    let (mut voted_in, mut epoch_before) = (BTreeSet::new(), 0);
    for height in 1..=newest {
        let block = block_at(chain, height);
        let payload = pos::Payload::decode(block.protocol_payload()).unwrap();
        let epoch = payload.slot / EPOCH_SLOTS;
        assert_eq!(payload.accounting.is_some(), epoch > epoch_before, "block {height}, slot {}", payload.slot);
        epoch_before = epoch;
        if height > newest - blocks {
            duties += u64::from(block.header().beneficiary == key);
            let mut amounts = payload.accounting.iter().flat_map(|sums| sums.rewards.iter().chain(&sums.penalties));
            if amounts.any(|(validator, _)| *validator == key) {
                duties += 1;
                // The votes of an epoch may come in the blocks of the next one.
                missed += u64::from(!voted_in.contains(&(epoch - 2)));
            }
        }
        let own = payload.votes.iter().filter(|vote| vote.signer(&authenticator).is_ok_and(|signer| signer == key));
        voted_in.extend(own.map(|vote| vote.data.target.epoch));
    }
    (duties, missed)
}
