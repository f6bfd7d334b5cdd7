//! The host interface of a contract, with the gas cost of each operation.

use alloy_primitives::{Address, B256, Bytes, Log, LogData, Signature, U256, keccak256};

use super::{BlockContext, FrameOutcome, FrameResult, GasSchedule, HaltReason, Message, MessageKind, Stop, env::Env};
use crate::{
    primitives::{Gas, OutOfGas, recover_signer},
    state::AccountId,
};

const GAS: &GasSchedule = &GasSchedule::STANDARD;

/// The interface of one frame: storage, balances, calls, logs, hashing, the block.
///
/// Every operation charges [`GasSchedule::STANDARD`] first; one that exceeds the gas left ends the frame, whatever the
/// template does with the error.
pub struct Host<'h> {
    env: Env<'h>,
    message: &'h Message<'h>,
    account: AccountId,
    depth: u32,
    is_static: bool,
    gas_left: Gas,
    halted: Option<HaltReason>,
    /// Whether the template may open frames in the name of the signer.
    acts_for_signer: bool,
}

impl core::fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Host")
            .field("message", self.message)
            .field("depth", &self.depth)
            .field("gas_left", &self.gas_left)
            .finish_non_exhaustive()
    }
}

impl<'h> Host<'h> {
    pub(super) fn new(env: Env<'h>, message: &'h Message<'h>, account: AccountId, depth: u32, is_static: bool) -> Self {
        Self { env, message, account, depth, is_static, gas_left: message.gas, halted: None, acts_for_signer: false }
    }

    /// Lets the frame open others in the name of the signer.
    pub(super) fn acting_for_signer(self, acts_for_signer: bool) -> Self {
        Self { acts_for_signer, ..self }
    }

    pub(super) const fn message(&self) -> &'h Message<'h> {
        self.message
    }

    pub(super) const fn acts_for_signer(&self) -> bool {
        self.acts_for_signer
    }

    /// Returns whether no frame opened this one.
    pub(super) const fn is_outermost(&self) -> bool {
        self.depth == 0
    }

    /// Returns how the frame ends, given the template's `result`, which cannot hide a halt or an unreadable state.
    pub(super) fn finish<T>(self, result: Result<T, Stop>) -> Result<T, Stop> {
        if self.env.unreadable.is_some() {
            return Err(Stop::StateUnreadable);
        }
        match (self.halted, result) {
            (Some(reason), _) => Err(Stop::Halt(reason)),
            (None, Err(Stop::StateUnreadable)) => Err(Stop::Halt(HaltReason::TemplatePanic)),
            (None, result) => result,
        }
    }
}

/// Message and block.
impl Host<'_> {
    /// Returns the running contract's address.
    pub const fn address(&self) -> Address {
        self.message.to
    }

    /// Returns the caller: who opened this frame, or the account in whose name a forwarder did that this contract trusts. It is
    /// `msg.sender`, and `_msgSender()` of OpenZeppelin's `ERC2771Context`.
    pub const fn caller(&self) -> Address {
        match self.message.relayed_sender() {
            Some(sender) => sender,
            None => self.message.caller,
        }
    }

    /// Returns who opened this frame: a forwarder, where [`Host::caller`] is whom it calls for.
    pub const fn direct_caller(&self) -> Address {
        self.message.caller
    }

    /// Returns the signer of the transaction (`tx.origin`).
    pub const fn origin(&self) -> Address {
        self.message.origin
    }

    /// Returns the value of the call (`msg.value`), in wei.
    pub const fn value(&self) -> U256 {
        self.message.value
    }

    /// Returns the context of the block.
    pub const fn block(&self) -> &BlockContext {
        self.env.block
    }

    /// Returns the hash of the block below this one.
    pub const fn parent_hash(&self) -> B256 {
        self.env.block.parent_hash
    }

    /// Returns the chain id.
    pub const fn chain_id(&self) -> u64 {
        self.env.block.chain_id
    }

    /// Returns whether changes are forbidden (EIP-214).
    pub const fn is_static(&self) -> bool {
        self.is_static
    }

    /// Returns the gas left for this frame.
    pub const fn gas_left(&self) -> Gas {
        self.gas_left
    }
}

/// Gas.
impl Host<'_> {
    /// Charges processor work: `units` of about one cheap EVM operation each.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn compute(&mut self, units: u64) -> Result<(), Stop> {
        self.charge(Gas::new(GAS.compute_unit.saturating_mul(units)))
    }

    pub(super) fn charge(&mut self, gas: Gas) -> Result<(), Stop> {
        match self.gas_left.pay(gas) {
            Ok(left) => {
                self.gas_left = left;
                Ok(())
            }
            Err(OutOfGas { .. }) => Err(self.halt(HaltReason::OutOfGas)),
        }
    }

    #[cold]
    fn halt(&mut self, reason: HaltReason) -> Stop {
        self.gas_left = Gas::ZERO;
        Stop::Halt(*self.halted.get_or_insert(reason))
    }

    fn forbid_static(&mut self) -> Result<(), Stop> {
        if self.is_static { Err(self.halt(HaltReason::StaticViolation)) } else { Ok(()) }
    }
}

/// Storage and balances.
impl Host<'_> {
    /// Reads a slot of the running contract.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn load(&mut self, slot: U256) -> Result<U256, Stop> {
        let account = self.account;
        let (value, access) = self.env.read(|journal| journal.sload(account, &slot))?;
        self.charge(GAS.slot_read(access))?;
        Ok(value)
    }

    /// Writes a slot of the running contract.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn store(&mut self, slot: U256, value: U256) -> Result<(), Stop> {
        self.forbid_static()?;
        if self.gas_left <= Gas::new(GAS.slot_write_reserve) {
            return Err(self.halt(HaltReason::OutOfGas));
        }
        let account = self.account;
        let write = self.env.read(|journal| journal.sstore(account, &slot, value))?;
        let (cost, refund) = GAS.slot_write(&write, value);
        self.charge(cost)?;
        if refund != 0 {
            self.env.journal.add_refund(refund);
        }
        Ok(())
    }

    /// Returns the balance of `address`, in wei.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn balance(&mut self, address: &Address) -> Result<U256, Stop> {
        let id = self.access(address)?;
        Ok(self.env.journal.info(id).balance)
    }

    /// Returns whether the chain itself calls this frame: a system call, whose authority the frames it opens do not have.
    pub const fn is_system_call(&self) -> bool {
        self.message.is_system_call()
    }

    /// Mints `amount` wei of native token to the running contract.
    ///
    /// Allowed in the outermost frame of a system call only ([`Host::is_system_call`]); no transaction can mint.
    ///
    /// # Errors
    /// [`Stop`]: a revert without data outside a system call or when the balance would exceed 2^256 - 1; out of gas, or
    /// inside a static call.
    pub fn mint(&mut self, amount: U256) -> Result<(), Stop> {
        self.forbid_static()?;
        self.charge(Gas::new(GAS.call_value))?;
        if !self.is_system_call() {
            return Err(Stop::EMPTY_REVERT);
        }
        let own = self.message.to;
        let fits = self.env.read(|journal| journal.add_balance(&own, amount))?;
        if fits { Ok(()) } else { Err(Stop::EMPTY_REVERT) }
    }

    /// Burns `amount` wei of the running contract's native token.
    ///
    /// # Errors
    /// [`Stop`]: a revert without data when the balance is lower; out of gas, or inside a static call.
    pub fn burn(&mut self, amount: U256) -> Result<(), Stop> {
        self.forbid_static()?;
        self.charge(Gas::new(GAS.call_value))?;
        let own = self.message.to;
        let had = self.env.read(|journal| journal.sub_balance(&own, amount))?;
        if had { Ok(()) } else { Err(Stop::EMPTY_REVERT) }
    }

    /// Returns whether `address` has code.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn has_code(&mut self, address: &Address) -> Result<bool, Stop> {
        let id = self.access(address)?;
        Ok(self.env.journal.info(id).code_hash != crate::state::EMPTY_CODE_HASH)
    }

    /// Returns `derive(key, base)`, cached with the slot: a keccak costs more than the rest of a token transfer.
    pub(super) fn derived_slot(&mut self, key: U256, base: U256, derive: impl FnOnce(U256, U256) -> U256) -> U256 {
        let slot = self.env.journal.derived_slot(self.account, key, base, derive);
        if let Some(inspector) = &mut self.env.inspector {
            inspector.hash(&[key.to_be_bytes::<32>(), base.to_be_bytes()].concat(), slot.into());
        }
        slot
    }

    /// Begins to fetch the slot of `key` in the mapping at slot `base`, which is read soon: without gas, without an access.
    pub(super) fn fetch_ahead(&self, key: U256, base: U256) {
        self.env.journal.fetch_ahead(self.account, key, base);
    }

    /// Returns the nonce of `address`, at the cost of an access.
    pub(super) fn nonce_of(&mut self, address: &Address) -> Result<u64, Stop> {
        let id = self.access(address)?;
        Ok(self.env.journal.info(id).nonce)
    }

    fn access(&mut self, address: &Address) -> Result<AccountId, Stop> {
        let id = self.env.read(|journal| journal.load(address))?;
        let access = self.env.journal.warm(id);
        self.charge(GAS.account_access(access))?;
        Ok(id)
    }
}

/// Logs and cryptography.
impl Host<'_> {
    /// Emits a log of the running contract.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn log(&mut self, data: LogData) -> Result<(), Stop> {
        self.forbid_static()?;
        self.charge(GAS.log_cost(data.topics().len(), data.data.len()))?;
        let log = Log { address: self.message.to, data };
        if let Some(inspector) = &mut self.env.inspector {
            inspector.log(&log);
        }
        self.env.journal.log(log);
        Ok(())
    }

    /// Returns the keccak of `bytes`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn keccak(&mut self, bytes: &[u8]) -> Result<B256, Stop> {
        self.charge(GAS.hash_cost(bytes.len()))?;
        let hash = keccak256(bytes);
        if let Some(inspector) = &mut self.env.inspector {
            inspector.hash(bytes, hash);
        }
        Ok(hash)
    }

    /// Returns the signer of `hash`, or `None` for a signature without signer or with high `s` (EIP-2). `v` is 27 or
    /// 28.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn recover(&mut self, hash: B256, v: u8, r: U256, s: U256) -> Result<Option<Address>, Stop> {
        self.charge(Gas::new(GAS.recover))?;
        let is_odd = match v {
            27 => false,
            28 => true,
            _ => return Ok(None),
        };
        Ok(recover_signer(hash, &Signature::new(r, s, is_odd)).ok())
    }
}

/// Calls and creations. A failed callee is a result, not an error: see [`FrameResult::or_revert`].
impl Host<'_> {
    /// Calls `to` with all gas that may be forwarded (EIP-150).
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or a value transfer inside a static call.
    pub fn call(&mut self, to: Address, value: U256, input: &[u8]) -> Result<FrameResult, Stop> {
        self.call_with_gas(to, value, input, Gas::MAX)
    }

    /// Calls `to` with at most `gas`.
    ///
    /// # Errors
    /// As [`Host::call`].
    pub fn call_with_gas(&mut self, to: Address, value: U256, input: &[u8], gas: Gas) -> Result<FrameResult, Stop> {
        self.call_for(None, to, value, input, gas)
    }

    /// Calls `to`, in the name of `sender` if there is one.
    pub(super) fn call_for(
        &mut self,
        sender: Option<Address>,
        to: Address,
        value: U256,
        input: &[u8],
        gas: Gas,
    ) -> Result<FrameResult, Stop> {
        let stipend = self.charge_call(&to, value)?;
        self.send(self.message.inner(MessageKind::Call, to, value, input, gas).relayed_for(sender), stipend)
    }

    /// Charges what a call costs before its frame, and returns the gas that the callee gets on top.
    pub(super) fn charge_call(&mut self, to: &Address, value: U256) -> Result<u64, Stop> {
        if !value.is_zero() {
            self.forbid_static()?;
        }
        let account = self.access(to)?;
        if value.is_zero() {
            return Ok(0);
        }
        self.charge(Gas::new(GAS.call_value))?;
        let info = *self.env.journal.info(account);
        let is_new = info.nonce == 0 && info.balance.is_zero() && info.code_hash == crate::state::EMPTY_CODE_HASH;
        self.charge(Gas::new(if is_new { GAS.new_account } else { 0 }))?;
        Ok(GAS.call_stipend)
    }

    /// Calls `to` with all changes forbidden, in frames below too (EIP-214).
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn static_call(&mut self, to: Address, input: &[u8]) -> Result<FrameResult, Stop> {
        self.static_call_with_gas(to, input, Gas::MAX)
    }

    /// As [`Host::static_call`], with at most `gas`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn static_call_with_gas(&mut self, to: Address, input: &[u8], gas: Gas) -> Result<FrameResult, Stop> {
        self.access(&to)?;
        self.send(self.message.inner(MessageKind::StaticCall, to, U256::ZERO, input, gas), 0)
    }

    /// Transfers native token; the callee's failure fails this frame, with its revert data.
    ///
    /// # Errors
    /// [`Stop`] of a failed call, or as [`Host::call`].
    pub fn transfer(&mut self, to: Address, amount: U256) -> Result<(), Stop> {
        self.call(to, amount, &[])?.or_revert().map(drop)
    }

    /// Creates a contract and returns its address with the result of its construction.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn create(&mut self, init_code: &[u8], value: U256) -> Result<(Address, FrameResult), Stop> {
        self.charge_creation(init_code, false)?;
        let to = self.message.to.create(self.env.journal.info(self.account).nonce);
        Ok((to, self.create_at(to, init_code, value)?))
    }

    /// Creates a contract at the address that follows from this contract's, `salt` and the init code (EIP-1014), and returns the address
    /// with the result of its construction.
    ///
    /// # Errors
    /// As [`Host::create`].
    pub fn create2(&mut self, init_code: &[u8], value: U256, salt: B256) -> Result<(Address, FrameResult), Stop> {
        self.charge_creation(init_code, true)?;
        let to = self.message.to.create2(salt, keccak256(init_code));
        Ok((to, self.create_at(to, init_code, value)?))
    }

    /// Charges what a creation costs before its frame (EIP-3860), with the hash of the init code where the address follows from it.
    pub(super) fn charge_creation(&mut self, init_code: &[u8], is_hashed: bool) -> Result<(), Stop> {
        self.forbid_static()?;
        let words = init_code.len().div_ceil(32) as u64;
        let hash = if is_hashed { GAS.hash_word } else { 0 };
        self.charge(Gas::new(GAS.create + (GAS.init_code_word + hash) * words))
    }

    fn create_at(&mut self, to: Address, init_code: &[u8], value: U256) -> Result<FrameResult, Stop> {
        let failed =
            |reason| Ok(FrameResult { outcome: FrameOutcome::Halt(reason), gas_left: Gas::ZERO, output: Bytes::new() });
        if self.depth + 1 >= GAS.call_depth_max {
            return failed(HaltReason::CallDepth);
        }
        if self.env.journal.info(self.account).balance < value {
            return failed(HaltReason::InsufficientBalance);
        }
        let own = self.message.to;
        if self.env.read(|journal| journal.increment_nonce(&own))?.is_none() {
            return failed(HaltReason::NonceOverflow);
        }
        self.send_creation(self.message.inner(MessageKind::Create, to, value, init_code, Gas::MAX))
    }

    /// Runs the frame of a creation; its output is the revert data of a failure.
    pub(super) fn send_creation(&mut self, message: Message<'_>) -> Result<FrameResult, Stop> {
        self.env.read(|journal| journal.access_account(&message.to))?;
        let mut result = self.send(message, 0)?;
        if result.is_success() {
            result.output = Bytes::new();
        }
        Ok(result)
    }

    /// Runs a frame with as much of the gas that it asks for as may be forwarded, and `stipend` on top.
    pub(super) fn send(&mut self, mut message: Message<'_>, stipend: u64) -> Result<FrameResult, Stop> {
        let passed = GAS.forwardable(self.gas_left()).min(message.gas);
        self.charge(passed)?;
        message.gas = passed.saturating_add(Gas::new(stipend));
        let is_static = self.is_static || message.kind == MessageKind::StaticCall;
        let frames = self.env.frames;
        let result = frames.run(&mut self.env.reborrow(), &message, self.depth + 1, is_static);
        if self.env.unreadable.is_some() {
            return Err(Stop::StateUnreadable);
        }
        self.gas_left = self.gas_left.saturating_add(result.gas_left);
        Ok(result)
    }
}
