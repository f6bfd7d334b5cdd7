//! Frames in the name of the signer, which the chain lets one template open: the batch of operations.

use alloy_primitives::{Address, B256, U256, keccak256};

use super::{FrameResult, Host, MessageKind, Stop, abi};
use crate::primitives::Gas;

/// Frames whose caller is the signer.
impl Host<'_> {
    /// Returns whether the signer of the transaction called this contract itself: not through another contract, a relay, or an
    /// operation of a batch.
    pub const fn is_called_by_signer(&self) -> bool {
        self.is_outermost() && !self.is_system_call()
    }

    /// Returns the nonce of the signer's transaction.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn signer_nonce(&mut self) -> Result<u64, Stop> {
        let signer = self.origin();
        // The transaction has raised it.
        Ok(self.nonce_of(&signer)?.saturating_sub(1))
    }

    /// Calls `to` as the signer, with the signer's value.
    ///
    /// # Errors
    /// As [`Host::call`]; a revert without data where [`Host::is_called_by_signer`] is false or the template is not one that
    /// [acts for the signer](super::Template::acts_for_signer).
    pub fn call_for_signer(&mut self, to: Address, value: U256, input: &[u8]) -> Result<FrameResult, Stop> {
        self.check_signer()?;
        let stipend = self.charge_call(&to, value)?;
        self.send(self.message().inner_of_caller(MessageKind::Call, to, value, input, Gas::MAX), stipend)
    }

    /// Creates a contract as the signer, with the signer's value, at the address that CREATE2 by the running contract gives (EIP-1014).
    /// The signer's nonce stays what it is.
    ///
    /// # Errors
    /// As [`Host::call_for_signer`].
    pub fn create_for_signer(
        &mut self,
        init_code: &[u8],
        value: U256,
        salt: B256,
    ) -> Result<(Address, FrameResult), Stop> {
        self.check_signer()?;
        self.charge_creation(init_code, true)?;
        let to = self.address().create2(salt, keccak256(init_code));
        let message = self.message().inner_of_caller(MessageKind::Create, to, value, init_code, Gas::MAX);
        Ok((to, self.send_creation(message)?))
    }

    fn check_signer(&self) -> Result<(), Stop> {
        if self.acts_for_signer() && self.is_called_by_signer() { Ok(()) } else { Err(abi::empty_revert()) }
    }
}
