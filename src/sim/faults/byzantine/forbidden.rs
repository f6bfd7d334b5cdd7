//! Blocks against the rules of a chain's system contracts: with a transaction of who may not send, with false reports of absences.

use std::sync::{Arc, LazyLock};

use crate::{
    chain::{Block, BlockAttributes},
    consensus::{AnyProtocol, BuildRequest, pbft},
    primitives::{Address, Gas, KeyPair, TransactionRequest, U256},
    sim::{
        faults::plan::Behaviour,
        network::{environment::Environment, replica::Replica},
    },
};

/// Signs the transactions of somebody who is on no list.
static STRANGER: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::from_seed(0, "stranger"));

/// Returns the key of somebody who is on no list of the chain.
pub(in crate::sim) fn stranger() -> &'static KeyPair {
    &STRANGER
}

impl Replica {
    /// Returns a block like `block` that has a transfer of a stranger alone, executed as if there were no lists; `None` where the
    /// stranger may send, or can't.
    pub(super) fn forbidden_block(&self, block: &Block) -> Option<Block> {
        let (chain, header) = (self.chain(), block.header());
        let parent = chain.block(header.parent_hash).ok()?;
        if chain.permissions_of(&parent, stranger().address()).ok()?.maySend {
            return None;
        }
        let state = chain.state_of(header.parent_hash).ok()?;
        let request = TransactionRequest {
            chain_id: Some(chain.spec().chain_id),
            nonce: state.account(&stranger().address()).ok()?.unwrap_or_default().nonce,
            to: Some(Address::repeat_byte(0xbb)),
            value: U256::ONE,
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: header.base_fee_per_gas.unwrap_or_default().into(),
            ..TransactionRequest::default()
        };
        let transaction = Arc::new(request.sign(stranger()).ok()?);
        let attributes = BlockAttributes {
            timestamp: block.timestamp(),
            beneficiary: header.beneficiary,
            difficulty: header.difficulty,
            mix_hash: header.mix_hash,
            nonce: header.nonce,
            payload: block.protocol_payload().clone(),
            ..BlockAttributes::default()
        };
        let mut candidates = vec![transaction].into_iter();
        let built = chain.build_without_permissions(header.parent_hash, &attributes, &mut candidates).ok()?;
        (!built.transactions().is_empty()).then_some(built)
    }

    /// Reports validators as absent in a block that the protocol of a replica that misbehaves so requests.
    pub(in crate::sim) fn accuse(&mut self, request: &mut BuildRequest, env: &mut Environment) {
        if self.misbehaviour.is_empty() {
            return;
        }
        let Some(mut rng) = env.faults.as_ref().map(|faults| faults.byzantine.clone()) else { return };
        let behaviours = self.behaviours(&mut rng);
        let AnyProtocol::Pbft(pbft) = self.protocol() else { return };
        if !behaviours.contains(&Behaviour::FalseAbsences) || !pbft.reports_absences() {
            return;
        }
        let committee = pbft.committee();
        let most = committee.validators().len().saturating_sub(committee.quorums().strong());
        let own = self.address();
        let others: Vec<Address> = committee.validators().addresses().filter(|member| Some(*member) != own).collect();
        // The same ones always, so that they would be punished soon.
        let Ok(payload) = pbft::Payload::decode(&request.payload) else { return };
        let absent = others.into_iter().take(most).collect();
        request.payload = pbft::Payload { absent, ..payload }.encoded();
        if let Some(faults) = &mut env.faults {
            faults.byzantine = rng;
        }
    }
}
