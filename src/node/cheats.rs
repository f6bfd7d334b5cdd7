//! What a developer may do by hand and a user may not.

use std::sync::Arc;

use super::{Node, NodeError};
use crate::{
    chain::{Intervention, Pool},
    primitives::{Address, B256, Bytes, Transaction, U256},
};

impl Node {
    /// Sets an account's balance, in the smallest unit. Readers see it at once; the next block records it.
    ///
    /// # Errors
    /// [`NodeError::Chain`] when genesis does not allow interventions or the state fails.
    pub fn set_balance(&self, address: Address, balance: U256) -> Result<(), NodeError> {
        self.intervene(Intervention::Balance { address, balance })
    }

    /// Sets an account's transaction count.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_nonce(&self, address: Address, nonce: u64) -> Result<(), NodeError> {
        self.intervene(Intervention::Nonce { address, nonce })
    }

    /// Sets an account's code; empty code removes it.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_code(&self, address: Address, code: Bytes) -> Result<(), NodeError> {
        self.intervene(Intervention::Code { address, code })
    }

    /// Sets a storage slot; zero clears it.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_storage(&self, address: Address, slot: U256, value: U256) -> Result<(), NodeError> {
        self.intervene(Intervention::Storage { address, slot, value })
    }

    /// Sets the next block's base fee, in the smallest unit a unit of gas; blocks after it go on from there (EIP-1559).
    ///
    /// # Errors
    /// As [`Node::set_balance`]; also when the chain has no base fee.
    pub fn set_next_block_base_fee(&self, per_gas: u64) -> Result<(), NodeError> {
        self.intervene(Intervention::BaseFee { per_gas })
    }

    /// Sets the gas limit of the blocks to come.
    ///
    /// # Errors
    /// As [`Node::set_balance`]; also below the smallest limit.
    pub fn set_block_gas_limit(&self, gas: u64) -> Result<(), NodeError> {
        self.intervene(Intervention::GasLimit { gas: crate::primitives::Gas::new(gas) })
    }

    fn intervene(&self, intervention: Intervention) -> Result<(), NodeError> {
        let mut writer = self.write();
        writer.network.intervene(&intervention)?;
        let context = writer.chain().pool_context()?;
        // What the account can no longer send leaves the pools.
        if let Some(address) = intervention.address() {
            writer.network.for_each_pool(|pool| drop(pool.refresh_sender(address, &context)));
        }
        writer.publish(&self.shared)?;
        Ok(())
    }

    /// Lets transactions of `address` be sent without its key.
    pub fn impersonate(&self, address: Address) {
        self.write().impersonated.insert(address);
    }

    /// Ends [`Node::impersonate`].
    pub fn stop_impersonating(&self, address: Address) {
        self.write().impersonated.remove(&address);
    }

    /// The addresses of [`Node::impersonate`], in order.
    pub fn impersonated(&self) -> Vec<Address> {
        self.write().impersonated.iter().copied().collect()
    }

    /// Lets transactions of any address be sent without its key, or ends that.
    pub fn set_auto_impersonate(&self, on: bool) {
        self.write().impersonates_all = on;
    }

    /// Takes a transaction out of the pool.
    ///
    /// # Errors
    /// [`NodeError::Chain`] when the state fails.
    pub fn drop_transaction(&self, hash: B256) -> Result<Option<Arc<Transaction>>, NodeError> {
        let mut writer = self.write();
        let dropped = writer.network.drop_transaction(&hash);
        writer.publish(&self.shared)?;
        Ok(dropped)
    }

    /// Empties the pool.
    ///
    /// # Errors
    /// [`NodeError::Chain`] when the state fails.
    pub fn drop_all_transactions(&self) -> Result<(), NodeError> {
        let mut writer = self.write();
        writer.network.for_each_pool(Pool::clear);
        writer.publish(&self.shared)?;
        Ok(())
    }
}
