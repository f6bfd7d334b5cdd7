//! What ERC-4626 asks of a vault (EIP-4626, and a16z's property tests of it), in random histories: previews are what happens, maxima are
//! respected and never revert, every rounding is in the vault's favour, no round trip gains, accounts change by what is returned, views are
//! the same for all, and the supply is what the holders have.

use alloy_primitives::{Bytes, U512};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::vm::HaltReason;

const USERS: [Address; 3] = [OWNER, BOB, CAROL];

/// Has neither assets nor shares.
const SPENDER: Address = Address::repeat_byte(0x55);

#[derive(Clone, Debug)]
enum Step {
    Deposit { user: usize, assets: u64 },
    Mint { user: usize, shares: u64 },
    Withdraw { user: usize, assets: u64 },
    Redeem { user: usize, shares: u64 },
    Donate { user: usize, assets: u64 },
    Transfer { from: usize, to: usize, shares: u64 },
    SetFees { entry: u16, exit: u16 },
}

fn a_step() -> impl Strategy<Value = Step> {
    let user = || 0..USERS.len();
    let assets = || prop_oneof![4 => 0_u64..2_000, 1 => 0..2 * ASSETS];
    let shares = || prop_oneof![2 => 0_u64..2_000, 2 => 0_u64..2_000_000];
    prop_oneof![
        4 => (user(), assets()).prop_map(|(user, assets)| Step::Deposit { user, assets }),
        4 => (user(), shares()).prop_map(|(user, shares)| Step::Mint { user, shares }),
        4 => (user(), assets()).prop_map(|(user, assets)| Step::Withdraw { user, assets }),
        4 => (user(), shares()).prop_map(|(user, shares)| Step::Redeem { user, shares }),
        2 => (user(), assets()).prop_map(|(user, assets)| Step::Donate { user, assets }),
        2 => (user(), user(), shares()).prop_map(|(from, to, shares)| Step::Transfer { from, to, shares }),
        1 => (fee(), fee()).prop_map(|(entry, exit)| Step::SetFees { entry, exit }),
    ]
}

fn fee() -> impl Strategy<Value = u16> {
    prop_oneof![2 => Just(0), 2 => 0_u16..1_000, 1 => Just(FEE_MAX)]
}

fn a_vault() -> impl Strategy<Value = Erc4626Params> {
    let recipient = select(vec![RECIPIENT, OWNER.create(1)]);
    (select(vec![0_u8, 3]), fee(), fee(), recipient).prop_map(
        |(decimals_offset, entry_fee, exit_fee, fee_recipient)| Erc4626Params {
            decimals_offset,
            entry_fee,
            exit_fee,
            fee_recipient,
            ..params()
        },
    )
}

impl World {
    /// Runs a step, whose preview says what it returns if it succeeds.
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Deposit { user, assets } => {
                let preview = self.read(&sol::previewDepositCall { assets: U256::from(assets) });
                self.as_previewed(user, &deposit(assets, USERS[user]), preview)
            }
            Step::Mint { user, shares } => {
                let preview = self.read(&sol::previewMintCall { shares: U256::from(shares) });
                self.as_previewed(user, &mint(shares, USERS[user]), preview)
            }
            Step::Withdraw { user, assets } => {
                let preview = self.read(&sol::previewWithdrawCall { assets: U256::from(assets) });
                self.as_previewed(user, &withdraw(assets, USERS[user], USERS[user]), preview)
            }
            Step::Redeem { user, shares } => {
                let preview = self.read(&sol::previewRedeemCall { shares: U256::from(shares) });
                self.as_previewed(user, &redeem(shares, USERS[user], USERS[user]), preview)
            }
            Step::Donate { user, assets } => {
                let call = asset::transferCall { to: self.vault, value: U256::from(assets) };
                // Refused when he has not so much.
                drop(self.chain.call(USERS[user], self.asset, &call));
                Ok(())
            }
            Step::Transfer { from, to, shares } => {
                let call = sol::transferCall { to: USERS[to], value: U256::from(shares) };
                drop(self.chain.call(USERS[from], self.vault, &call));
                Ok(())
            }
            Step::SetFees { entry, exit } => {
                self.ok(OWNER, &sol::setFeesCall { entryFee: entry, exitFee: exit });
                Ok(())
            }
        }
    }

    fn as_previewed<C: SolCall<Return = U256>>(
        &mut self,
        user: usize,
        call: &C,
        preview: U256,
    ) -> Result<(), TestCaseError> {
        if let Ok(got) = self.chain.call(USERS[user], self.vault, call) {
            prop_assert_eq!(got, preview, "{}", C::SIGNATURE);
        }
        Ok(())
    }

    /// Returns assets and shares with the virtual ones.
    fn virtual_amounts(&self, offset: u8) -> (U512, U512) {
        let assets = self.read(&sol::totalAssetsCall {}) + U256::ONE;
        let shares = self.read(&sol::totalSupplyCall {}) + U256::from(10).pow(U256::from(offset));
        (U512::from(assets), U512::from(shares))
    }

    fn maxima_are_respected(&self, user: Address) -> Result<(), TestCaseError> {
        let most = self.read(&sol::maxWithdrawCall { owner: user });
        let all = self.read(&sol::maxRedeemCall { owner: user });
        let take = |assets| sol::withdrawCall { assets, receiver: user, owner: user };
        let give_up = |shares| sol::redeemCall { shares, receiver: user, owner: user };
        prop_assert!(self.clone().chain.call(user, self.vault, &take(most)).is_ok());
        prop_assert!(self.clone().chain.call(user, self.vault, &give_up(all)).is_ok());
        let above = most + U256::ONE;
        let refused = sol::ERC4626ExceededMaxWithdraw { owner: user, assets: above, max: most };
        prop_assert_eq!(self.clone().chain.call(user, self.vault, &take(above)), error(&refused));
        let above = all + U256::ONE;
        let refused = sol::ERC4626ExceededMaxRedeem { owner: user, shares: above, max: all };
        prop_assert_eq!(self.clone().chain.call(user, self.vault, &give_up(above)), error(&refused));
        Ok(())
    }

    /// Calls on a copy; the copy and what it returns, if it succeeds.
    fn tried<C: SolCall<Return = U256>>(&self, user: Address, call: &C) -> Option<(Self, U256)> {
        let mut world = self.clone();
        let got = world.chain.call(user, self.vault, call).ok()?;
        Some((world, got))
    }

    /// The eight round trips of a16z's ERC-4626 property tests (`prop_RT_*`), of one user with what he has.
    fn no_round_trip_gains(&self, user: Address, amount: u64) -> Result<(), TestCaseError> {
        let assets = |amount| (sol::depositCall { assets: amount, receiver: user }, withdraw_all(amount, user));
        let shares = |amount| (sol::mintCall { shares: amount, receiver: user }, redeem_all(amount, user));
        let amount = U256::from(amount);
        let ((deposits, withdraws), (mints, redeems)) = (assets(amount), shares(amount));
        if let Some((world, minted)) = self.tried(user, &deposits) {
            let redeemed = world.tried(user, &shares(minted).1).map(|(_, assets)| assets);
            prop_assert!(redeemed.is_some_and(|assets| assets <= amount), "deposit, redeem: {:?}", redeemed);
            let burnt = world.tried(user, &withdraws).map(|(_, shares)| shares);
            prop_assert!(burnt.is_none_or(|shares| shares >= minted), "deposit, withdraw: {:?}", burnt);
        }
        if let Some((world, paid)) = self.tried(user, &mints) {
            let redeemed = world.tried(user, &redeems).map(|(_, assets)| assets);
            prop_assert!(redeemed.is_some_and(|assets| assets <= paid), "mint, redeem: {:?}", redeemed);
            let burnt = world.tried(user, &assets(paid).1).map(|(_, shares)| shares);
            prop_assert!(burnt.is_none_or(|shares| shares >= amount), "mint, withdraw: {:?}", burnt);
        }
        if let Some((world, burnt)) = self.tried(user, &withdraws) {
            let minted = world.tried(user, &deposits).map(|(_, shares)| shares);
            prop_assert!(minted.is_some_and(|shares| shares <= burnt), "withdraw, deposit: {:?}", minted);
            let paid = world.tried(user, &shares(burnt).0).map(|(_, assets)| assets);
            prop_assert!(paid.is_none_or(|assets| assets >= amount), "withdraw, mint: {:?}", paid);
        }
        if let Some((world, received)) = self.tried(user, &redeems) {
            let minted = world.tried(user, &assets(received).0).map(|(_, shares)| shares);
            prop_assert!(minted.is_some_and(|shares| shares <= amount), "redeem, deposit: {:?}", minted);
            let paid = world.tried(user, &mints).map(|(_, assets)| assets);
            prop_assert!(paid.is_none_or(|assets| assets >= received), "redeem, mint: {:?}", paid);
        }
        Ok(())
    }

    /// What each operation takes and gives is what it returns, from whom and to whom it says (`prop_deposit` and so on); somebody else's
    /// shares need an allowance, which is used up.
    fn accounts_are_right(&self, user: Address, amount: u64) -> Result<(), TestCaseError> {
        let (caller, owner, amount) = (SPENDER, user, U256::from(amount));
        let receiver = Address::repeat_byte(0x77);
        let held = |world: &Self, account| (U256::from(world.assets(account)), U256::from(world.shares(account)));
        let (assets, shares) = held(self, owner);
        let deposits = self.tried(owner, &sol::depositCall { assets: amount, receiver });
        let mints = self.tried(owner, &sol::mintCall { shares: amount, receiver });
        let entries = deposits.map(|(world, minted)| (world, amount, minted));
        for (world, paid, minted) in entries.into_iter().chain(mints.map(|(world, paid)| (world, paid, amount))) {
            prop_assert_eq!(held(&world, owner), (assets - paid, shares));
            prop_assert_eq!(held(&world, receiver), (U256::ZERO, minted));
        }
        let (withdraws, redeems) = (
            sol::withdrawCall { assets: amount, receiver, owner },
            sol::redeemCall { shares: amount, receiver, owner },
        );
        let mut allowed = self.clone();
        allowed.ok(owner, &sol::approveCall { spender: caller, value: shares });
        let withdrawals = allowed.tried(caller, &withdraws).map(|(world, burnt)| (world, amount, burnt));
        let redemptions = allowed.tried(caller, &redeems).map(|(world, received)| (world, received, amount));
        for (world, received, burnt) in withdrawals.into_iter().chain(redemptions) {
            prop_assert_eq!(held(&world, owner), (assets, shares - burnt));
            prop_assert_eq!(held(&world, receiver), (received, U256::ZERO));
            let left = world.read(&sol::allowanceCall { owner, spender: caller });
            prop_assert_eq!(left, shares - burnt);
            if !burnt.is_zero() {
                prop_assert!(self.tried(caller, &withdraws).is_none() && self.tried(caller, &redeems).is_none());
            }
        }
        Ok(())
    }

    /// Conversions and previews are the same whoever asks, and previews do not depend on what the asker has.
    fn views_are_the_same_for_all(&self, amount: u64) -> Result<(), TestCaseError> {
        let amount = U256::from(amount);
        let ask = |from| {
            let mut chain = self.clone().chain;
            [
                chain.ok(from, self.vault, &sol::convertToSharesCall { assets: amount }),
                chain.ok(from, self.vault, &sol::convertToAssetsCall { shares: amount }),
                chain.ok(from, self.vault, &sol::previewDepositCall { assets: amount }),
                chain.ok(from, self.vault, &sol::previewMintCall { shares: amount }),
                chain.ok(from, self.vault, &sol::previewWithdrawCall { assets: amount }),
                chain.ok(from, self.vault, &sol::previewRedeemCall { shares: amount }),
            ]
        };
        let answers = ask(OWNER);
        for other in [BOB, SPENDER, self.vault] {
            prop_assert_eq!(ask(other), answers);
        }
        Ok(())
    }

    fn conversions_round_down(&self, amount: u64) -> Result<(), TestCaseError> {
        let amount = U256::from(amount);
        let shares = self.read(&sol::convertToSharesCall { assets: amount });
        let assets = self.read(&sol::convertToAssetsCall { shares: amount });
        let there_and_back =
            [self.read(&sol::convertToAssetsCall { shares }), self.read(&sol::convertToSharesCall { assets })];
        prop_assert!(there_and_back.iter().all(|back| *back <= amount), "{there_and_back:?} of {amount}");
        // With fees, a preview is never better than a conversion.
        let deposited = self.read(&sol::previewDepositCall { assets: amount });
        let withdrawn = self.read(&sol::previewWithdrawCall { assets: amount });
        prop_assert!(deposited <= shares && shares <= withdrawn, "{deposited}, {shares}, {withdrawn}");
        let redeemed = self.read(&sol::previewRedeemCall { shares: amount });
        let minted = self.read(&sol::previewMintCall { shares: amount });
        prop_assert!(redeemed <= assets && assets <= minted, "{redeemed}, {assets}, {minted}");
        Ok(())
    }

    fn supplies_are_sums(&self) -> Result<(), TestCaseError> {
        let shares: u64 = USERS.iter().map(|user| self.shares(*user)).sum();
        prop_assert_eq!(self.read(&sol::totalSupplyCall {}), U256::from(shares));
        let assets: u64 = USERS.iter().chain(&[RECIPIENT, self.vault]).map(|account| self.assets(*account)).sum();
        prop_assert_eq!(assets, 3 * ASSETS);
        prop_assert_eq!(self.read(&sol::totalAssetsCall {}), U256::from(self.assets(self.vault)));
        Ok(())
    }
}

fn withdraw_all(assets: U256, user: Address) -> sol::withdrawCall {
    sol::withdrawCall { assets, receiver: user, owner: user }
}

fn redeem_all(shares: U256, user: Address) -> sol::redeemCall {
    sol::redeemCall { shares, receiver: user, owner: user }
}

fn error(error: &impl SolError) -> Result<U256, Bytes> {
    Err(error.abi_encode().into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_standard_holds_in_every_history(
        params in a_vault(),
        steps in vec((a_step(), 0..USERS.len(), 0_u64..5_000), 1..20),
    ) {
        let mut world = deploy(&params);
        prop_assert_eq!(world.vault, OWNER.create(1));
        let offset = params.decimals_offset;
        for (step, user, amount) in steps {
            let (assets, shares) = world.virtual_amounts(offset);
            world.step(&step)?;
            let (assets_after, shares_after) = world.virtual_amounts(offset);
            prop_assert!(assets_after * shares >= assets * shares_after, "a share is worth less after {step:?}");
            world.supplies_are_sums()?;
            world.maxima_are_respected(USERS[user])?;
            world.no_round_trip_gains(USERS[user], amount)?;
            world.accounts_are_right(USERS[user], amount)?;
            world.views_are_the_same_for_all(amount)?;
            world.conversions_round_down(amount)?;
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..37, tail: Vec<u8>, words: [u64; 8], gas in 0_u64..200_000) {
        let mut world = deploy(&with_fees());
        world.ok(BOB, &deposit(10_000, BOB));
        let known = sol::Erc4626VaultCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(BOB, world.vault, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(Erc4626::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
