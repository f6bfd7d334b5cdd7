//! OpenZeppelin's `Votes`: voting units that accounts delegate, with the history of each delegate's votes (ERC-5805, ERC-6372).
//!
//! The clock is the block's number, OpenZeppelin's default.

use alloy_primitives::{
    aliases::{U48, U208},
    b256,
};

use self::interface::{DelegateChanged, DelegateVotesChanged, ERC5805FutureLookup, VotesExpiredSignature};
use super::{Domain, Nonces, Trace208, ecdsa};
use crate::vm::{contract::*, math::downcast};

/// Events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The signature was good until `expiry`, a timestamp.
        error VotesExpiredSignature(uint256 expiry);
        /// The time asked for is not past.
        error ERC5805FutureLookup(uint256 timepoint, uint48 clock);
        /// The clock was changed.
        error ERC6372InconsistentClock();
        /// An account's units count for another delegate.
        event DelegateChanged(address indexed delegator, address indexed fromDelegate, address indexed toDelegate);
        /// A delegate has more votes, or fewer.
        event DelegateVotesChanged(address indexed delegate, uint256 previousVotes, uint256 newVotes);
    }
}

/// What `CLOCK_MODE` returns.
pub const CLOCK_MODE: &str = "mode=blocknumber&from=default";

/// `Delegation(address delegatee,uint256 nonce,uint256 expiry)`
const DELEGATION_TYPE: B256 = b256!("e48329057bfd03d55e49b547132e39cffd9c1820ad7b9d4c5307691425d15adf");

storage! {
    /// Delegates and their votes.
    pub contract Votes {
        /// Delegate by account; zero for one whose units don't vote.
        pub delegatee: Mapping<Address, Address>,
        /// Votes by delegate.
        pub delegate_checkpoints: Mapping<Address, Trace208>,
        /// All voting units.
        pub total_checkpoints: Trace208,
    }
}

/// Returns the time by which votes are kept: the block's number (`clock`).
///
/// # Errors
/// `SafeCastOverflowedUintDowncast` beyond 48 bits.
pub fn clock(host: &Host<'_>) -> Result<U48, Stop> {
    downcast(U256::from(host.block().height.get()))
}

impl Votes {
    /// Returns the current votes of a delegate (`getVotes`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn get_votes(self, host: &mut Host<'_>, account: Address) -> Result<U256, Stop> {
        self.delegate_checkpoints.at(host, account)?.latest(host).map(U256::from)
    }

    /// Returns the votes that a delegate had at the end of a past block (`getPastVotes`).
    ///
    /// # Errors
    /// [`ERC5805FutureLookup`] when the block is not past; [`Stop`].
    pub fn get_past_votes(self, host: &mut Host<'_>, account: Address, timepoint: U256) -> Result<U256, Stop> {
        let key = past(host, timepoint)?;
        self.delegate_checkpoints.at(host, account)?.upper_lookup_recent(host, key).map(U256::from)
    }

    /// Returns all units at the end of a past block, delegated or not (`getPastTotalSupply`).
    ///
    /// # Errors
    /// [`ERC5805FutureLookup`] when the block is not past; [`Stop`].
    pub fn get_past_total_supply(self, host: &mut Host<'_>, timepoint: U256) -> Result<U256, Stop> {
        let key = past(host, timepoint)?;
        self.total_checkpoints.upper_lookup_recent(host, key).map(U256::from)
    }

    /// Returns the delegate of an account (`delegates`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn delegates(self, host: &mut Host<'_>, account: Address) -> Result<Address, Stop> {
        self.delegatee.get(host, account)
    }

    /// Makes an account's units count for a delegate (`_delegate`, by which `delegate` is `_delegate(msg.sender, delegatee)`).
    ///
    /// `units` are the account's voting units (`_getVotingUnits`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn delegate(
        self,
        host: &mut Host<'_>,
        account: Address,
        delegatee: Address,
        units: impl FnOnce(&mut Host<'_>, Address) -> Result<U256, Stop>,
    ) -> Result<(), Stop> {
        let delegate = self.delegatee.at(host, account)?;
        let old = delegate.get(host)?;
        delegate.set(host, delegatee)?;
        host.emit(&DelegateChanged { delegator: account, fromDelegate: old, toDelegate: delegatee })?;
        let units = units(host, account)?;
        self.move_delegate_votes(host, old, delegatee, units)
    }

    /// Returns the signer of a delegation, whose nonce it uses (`delegateBySig`, which then calls `_delegate`).
    ///
    /// # Errors
    /// [`VotesExpiredSignature`]; those of [`ecdsa::recover`]; `InvalidAccountNonce`; [`Stop`].
    pub fn delegation_signer(
        host: &mut Host<'_>,
        domain: &Domain,
        nonces: Nonces,
        delegation: &Delegation,
    ) -> Result<Address, Stop> {
        let Delegation { delegatee, nonce, expiry, v, r, s } = *delegation;
        let now = U256::from(host.block().timestamp.as_secs());
        require(now <= expiry, VotesExpiredSignature { expiry })?;
        let message = host.keccak(&(DELEGATION_TYPE, delegatee, nonce, expiry).abi_encode())?;
        let hash = domain.hash_typed_data(host, message)?;
        let signer = ecdsa::recover(host, hash, v, r, s)?;
        nonces.use_checked_nonce(host, signer, nonce)?;
        Ok(signer)
    }

    /// Follows a transfer, a mint (from zero) or a burn (to zero) of units (`_transferVotingUnits`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn transfer_voting_units(
        self,
        host: &mut Host<'_>,
        from: Address,
        to: Address,
        amount: U256,
    ) -> Result<(), Stop> {
        if from.is_zero() {
            let amount = downcast(amount)?;
            push(self.total_checkpoints, host, |total: U208| total.add(amount))?;
        }
        if to.is_zero() {
            let amount = downcast(amount)?;
            push(self.total_checkpoints, host, |total: U208| total.sub(amount))?;
        }
        let (from, to) = (self.delegates(host, from)?, self.delegates(host, to)?);
        self.move_delegate_votes(host, from, to, amount)
    }

    /// Moves votes from one delegate to another (`_moveDelegateVotes`).
    fn move_delegate_votes(self, host: &mut Host<'_>, from: Address, to: Address, amount: U256) -> Result<(), Stop> {
        if from == to || amount.is_zero() {
            return Ok(());
        }
        if !from.is_zero() {
            let amount = downcast(amount)?;
            self.change_votes(host, from, |votes| votes.sub(amount))?;
        }
        if !to.is_zero() {
            let amount = downcast(amount)?;
            self.change_votes(host, to, |votes| votes.add(amount))?;
        }
        Ok(())
    }

    fn change_votes(
        self,
        host: &mut Host<'_>,
        delegate: Address,
        change: impl FnOnce(U208) -> Result<U208, Stop>,
    ) -> Result<(), Stop> {
        let trace = self.delegate_checkpoints.at(host, delegate)?;
        let (previous, new) = push(trace, host, change)?;
        host.emit(&DelegateVotesChanged { delegate, previousVotes: U256::from(previous), newVotes: U256::from(new) })
    }
}

/// A delegation by signature: the arguments of `delegateBySig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// The delegate.
    pub delegatee: Address,
    /// Nonce of the signer.
    pub nonce: U256,
    /// Time until which the signature is good, in seconds since the Unix epoch.
    pub expiry: U256,
    /// Recovery id: 27 or 28.
    pub v: u8,
    /// First half of the signature.
    pub r: B256,
    /// Second half.
    pub s: B256,
}

/// `_push(store, op, delta)`
fn push(
    trace: Trace208,
    host: &mut Host<'_>,
    change: impl FnOnce(U208) -> Result<U208, Stop>,
) -> Result<(U208, U208), Stop> {
    let now = clock(host)?;
    let value = change(trace.latest(host)?)?;
    trace.push(host, now, value)
}

/// `_validateTimepoint(timepoint)`
fn past(host: &Host<'_>, timepoint: U256) -> Result<U48, Stop> {
    let clock = clock(host)?;
    require(timepoint < U256::from(clock), ERC5805FutureLookup { timepoint, clock })?;
    downcast(timepoint)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use alloy_primitives::keccak256;
    use alloy_sol_types::{SolStruct, eip712_domain};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        primitives::{Height, KeyPair, Timestamp},
        vm::{math::overflow, sandbox::Sandbox},
    };

    storage! {
        contract Token {
            votes: Votes,
            nonces: Nonces,
            balances: Mapping<Address, U256>,
        }
    }

    const VOTES: Votes = Token::STATE.votes;

    fn account(n: u8) -> Address {
        if n == 0 { Address::ZERO } else { Address::repeat_byte(n) }
    }

    fn units(host: &mut Host<'_>, account: Address) -> Result<U256, Stop> {
        Token::STATE.balances.get(host, account)
    }

    fn transfer(host: &mut Host<'_>, from: Address, to: Address, amount: U256) -> Result<(), Stop> {
        if !from.is_zero() {
            Token::STATE.balances.at(host, from)?.sub(host, amount)?;
        }
        if !to.is_zero() {
            Token::STATE.balances.at(host, to)?.add(host, amount)?;
        }
        VOTES.transfer_voting_units(host, from, to, amount)
    }

    #[test]
    fn units_vote_once_they_are_delegated() {
        let mut sandbox = Sandbox::new();
        let (alice, bob, ten) = (account(1), account(2), U256::from(10));
        sandbox.block.height = Height::new(5);
        sandbox.run(move |host| transfer(host, Address::ZERO, alice, ten)).unwrap();
        assert_eq!(sandbox.run(move |host| VOTES.get_votes(host, alice)), Ok(U256::ZERO));
        sandbox.run(move |host| VOTES.delegate(host, alice, bob, units)).unwrap();
        let changed = DelegateChanged { delegator: alice, fromDelegate: Address::ZERO, toDelegate: bob };
        let moved = DelegateVotesChanged { delegate: bob, previousVotes: U256::ZERO, newVotes: ten };
        let logs: Vec<_> = sandbox.logs().iter().map(|log| log.data.clone()).collect();
        assert_eq!(logs, [changed.encode_log_data(), moved.encode_log_data()]);
        let future = ERC5805FutureLookup { timepoint: U256::from(5), clock: U48::from(5) };
        let now = sandbox.run(move |host| VOTES.get_past_votes(host, bob, U256::from(5)));
        assert_eq!(now, Err(revert(&future)));
        sandbox.block.height = Height::new(6);
        assert_eq!(sandbox.run(move |host| VOTES.get_past_votes(host, bob, U256::from(5))), Ok(ten));
        assert_eq!(sandbox.run(move |host| VOTES.get_past_votes(host, bob, U256::from(4))), Ok(U256::ZERO));
        assert_eq!(sandbox.run(move |host| VOTES.get_past_total_supply(host, U256::from(5))), Ok(ten));
        assert_eq!(
            sandbox.run(|host| VOTES.transfer_voting_units(host, account(3), Address::ZERO, U256::from(11))),
            Err(overflow())
        );
    }

    #[test]
    fn a_signature_delegates_once_and_until_it_expires() {
        alloy_sol_types::sol! {
            struct Delegation {
                address delegatee;
                uint256 nonce;
                uint256 expiry;
            }
        }
        assert_eq!(keccak256(Delegation::eip712_encode_type().as_bytes()), DELEGATION_TYPE);
        let mut sandbox = Sandbox::new();
        sandbox.block.timestamp = Timestamp::from_secs(100);
        let key = KeyPair::from_bytes(&B256::repeat_byte(4)).unwrap();
        let (delegatee, nonce, expiry) = (account(2), U256::ZERO, U256::from(100));
        let known = eip712_domain! {
            name: "Gold", version: "1", chain_id: 31_337, verifying_contract: Sandbox::CONTRACT,
        };
        let message = Delegation { delegatee, nonce, expiry };
        let signature = key.sign_hash(message.eip712_signing_hash(&known));
        let (v, r, s) = (27 + u8::from(signature.v()), signature.r().into(), signature.s().into());
        let delegation = super::Delegation { delegatee, nonce, expiry, v, r, s };
        let signer = move |host: &mut Host<'_>| {
            let domain = Domain { name: "Gold".to_owned(), version: "1" };
            Votes::delegation_signer(host, &domain, Token::STATE.nonces, &delegation)
        };
        assert_eq!(sandbox.run(signer), Ok(key.address()));
        let used =
            super::super::nonces::interface::InvalidAccountNonce { account: key.address(), currentNonce: U256::ONE };
        assert_eq!(sandbox.run(signer), Err(revert(&used)));
        sandbox.block.timestamp = Timestamp::from_secs(101);
        assert_eq!(sandbox.run(signer), Err(revert(&VotesExpiredSignature { expiry })));
    }

    #[test]
    fn errors_have_the_published_selectors() {
        assert_eq!(VotesExpiredSignature::SELECTOR, [0x46, 0x83, 0xaf, 0x0e]);
        assert_eq!(ERC5805FutureLookup::SELECTOR, [0xec, 0xd3, 0xf8, 0x1e]);
        assert_eq!(interface::ERC6372InconsistentClock::SELECTOR, [0x6f, 0xf0, 0x71, 0x40]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Against a model that counts votes afresh after every block.
        #[test]
        fn votes_follow_a_model(steps in proptest::collection::vec((0_u8..5, 0_u8..5, 0_u64..20, any::<bool>(), any::<bool>()), 1..30)) {
            let mut sandbox = Sandbox::new();
            let (mut balances, mut delegates) = (BTreeMap::<u8, u64>::new(), BTreeMap::<u8, u8>::new());
            let mut history: Vec<(BTreeMap<u8, u64>, u64)> = Vec::new();
            let mut height = 1;
            for (from, to, amount, is_delegation, ends_block) in steps {
                sandbox.block.height = Height::new(height);
                if is_delegation {
                    if from != 0 {
                        sandbox.run(move |host| VOTES.delegate(host, account(from), account(to), units)).unwrap();
                        delegates.insert(from, to);
                    }
                } else if from != 0 || to != 0 {
                    let held = balances.get(&from).copied().unwrap_or_default();
                    let amount = if from == 0 { amount } else { amount.min(held) };
                    sandbox.run(move |host| transfer(host, account(from), account(to), U256::from(amount))).unwrap();
                    if from != 0 {
                        balances.insert(from, held - amount);
                    }
                    if to != 0 {
                        *balances.entry(to).or_default() += amount;
                    }
                }
                if ends_block {
                    let mut votes = BTreeMap::new();
                    for (holder, balance) in &balances {
                        *votes.entry(delegates.get(holder).copied().unwrap_or_default()).or_default() += balance;
                    }
                    // Checkpoints of the blocks up to this one.
                    history.push((votes, balances.values().sum()));
                    height += 1;
                }
            }
            sandbox.block.height = Height::new(height + 1);
            for (at, (votes, total)) in (1_u64..).zip(history) {
                for delegate in 1_u8..5 {
                    let want = U256::from(votes.get(&delegate).copied().unwrap_or_default());
                    let got = sandbox.run(move |host| VOTES.get_past_votes(host, account(delegate), U256::from(at)));
                    prop_assert_eq!(got, Ok(want));
                }
                let got = sandbox.run(move |host| VOTES.get_past_total_supply(host, U256::from(at)));
                prop_assert_eq!(got, Ok(U256::from(total)));
            }
        }
    }
}
