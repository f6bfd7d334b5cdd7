//! Changes that a development chain allows and its protocol does not: interventions in the state, impersonation, dropped
//! transactions.

use std::sync::Arc;

use super::{EngineError, InterventionError, Node};
use crate::{
    chain::Intervention,
    primitives::{Address, B256, Bytes, Gas, Transaction, U256},
    vm::SYSTEM_ADDRESS,
};

/// Interventions in the state. Readers see them at once; the next block records them.
impl Node {
    /// Sets an account's balance, in the smallest unit.
    ///
    /// # Errors
    /// [`InterventionError::NotAllowed`] by the genesis; [`InterventionError::Engine`] when the state can't be changed.
    pub fn set_balance(&self, address: Address, balance: U256) -> Result<(), InterventionError> {
        self.intervene(Intervention::Balance { address, balance })
    }

    /// Sets an account's nonce.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_nonce(&self, address: Address, nonce: u64) -> Result<(), InterventionError> {
        self.intervene(Intervention::Nonce { address, nonce })
    }

    /// Sets an account's code; empty code removes it.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_code(&self, address: Address, code: Bytes) -> Result<(), InterventionError> {
        self.intervene(Intervention::Code { address, code })
    }

    /// Sets a storage slot; zero clears it.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_storage(&self, address: Address, slot: U256, value: U256) -> Result<(), InterventionError> {
        self.intervene(Intervention::Storage { address, slot, value })
    }

    /// Sets the next block's base fee, in the smallest unit per unit of gas; later blocks adjust it (EIP-1559). Without effect on
    /// a chain without base fee.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_next_block_base_fee(&self, per_gas: u64) -> Result<(), InterventionError> {
        self.intervene(Intervention::BaseFee { per_gas })
    }

    /// Sets the gas limit of the next blocks; a limit below the smallest that a block may have is raised to it.
    ///
    /// # Errors
    /// As [`Node::set_balance`].
    pub fn set_block_gas_limit(&self, gas_limit: Gas) -> Result<(), InterventionError> {
        self.intervene(Intervention::GasLimit { gas: gas_limit })
    }

    /// Sets the next block's `mixHash`, which contracts read as `prevRandao`; not zero. A
    /// [`LightVerifier`](crate::consensus::LightVerifier), which sees no interventions, refuses the block.
    ///
    /// # Errors
    /// As [`Node::set_balance`]; [`InterventionError::Invalid`] before Paris, for zero, and with proof of stake, which decides
    /// `mixHash` itself.
    pub fn set_next_block_prev_randao(&self, mix_hash: B256) -> Result<(), InterventionError> {
        self.intervene(Intervention::PrevRandao { mix_hash })
    }

    fn intervene(&self, intervention: Intervention) -> Result<(), InterventionError> {
        self.write().command(&self.inner, |writer| {
            writer.network.intervene(&intervention).map_err(InterventionError::from_network)?;
            let context = writer.chain().pool_context().map_err(EngineError::from)?;
            // Transactions that the account can no longer send leave the pools.
            writer.network.for_each_pool(|pool| match intervention.address() {
                Some(address) => drop(pool.refresh_sender(address, &context)),
                None => pool.follow(&context),
            });
            writer.publish(&self.inner).map_err(EngineError::from)?;
            Ok(())
        })
    }
}

/// Sending without keys.
impl Node {
    /// Lets [`Node::send_request`] send transactions of `address` without its key, until [`Node::stop_impersonating`].
    ///
    /// # Errors
    /// [`InterventionError::NotAllowed`] by the genesis, [`InterventionError::SystemAddress`] for the caller of system calls.
    pub fn impersonate(&self, address: Address) -> Result<(), InterventionError> {
        if address == SYSTEM_ADDRESS {
            return Err(InterventionError::SystemAddress { address });
        }
        self.check_interventions()?;
        self.write().set(&self.inner, |settings| {
            Arc::make_mut(&mut settings.impersonated).insert(address);
        });
        Ok(())
    }

    /// Ends [`Node::impersonate`].
    pub fn stop_impersonating(&self, address: Address) {
        self.write().set(&self.inner, |settings| {
            Arc::make_mut(&mut settings.impersonated).remove(&address);
        });
    }

    /// The addresses of [`Node::impersonate`], in ascending order.
    pub fn impersonated(&self) -> Vec<Address> {
        self.view().impersonated().collect()
    }

    /// Lets [`Node::send_request`] send transactions of any address but the caller of system calls without its key, or ends that.
    ///
    /// # Errors
    /// [`InterventionError::NotAllowed`] by the genesis.
    pub fn set_auto_impersonate(&self, is_on: bool) -> Result<(), InterventionError> {
        self.check_interventions()?;
        self.write().set(&self.inner, |settings| settings.impersonates_all = is_on);
        Ok(())
    }

    fn check_interventions(&self) -> Result<(), InterventionError> {
        if self.view().chain().spec().allow_interventions { Ok(()) } else { Err(InterventionError::NotAllowed) }
    }
}

/// The pool.
impl Node {
    /// Removes a transaction from the pool. Returns it; `None` when the pool did not have it.
    pub fn drop_transaction(&self, hash: B256) -> Option<Arc<Transaction>> {
        let mut writer = self.write();
        let dropped = writer.network.drop_transaction(&hash);
        writer.publish_pool(&self.inner);
        dropped
    }

    /// Removes all transactions from the pool.
    pub fn drop_all_transactions(&self) {
        let mut writer = self.write();
        writer.network.drop_all_transactions();
        writer.publish_pool(&self.inner);
    }
}
