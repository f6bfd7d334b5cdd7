//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where the asset is called, its gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

fn history(params: &Erc4626Params) -> String {
    let mut world = deploy(params);
    let vault = world.vault;
    let (amount, zero) = (|value: u64| U256::from(value), Address::ZERO);
    let steps = [
        ("deposit, the first", BOB, deposit(10_000, BOB).abi_encode()),
        ("deposit", BOB, deposit(10_000, BOB).abi_encode()),
        ("deposit for nobody", BOB, deposit(10, zero).abi_encode()),
        ("deposit of too much", BOB, deposit(2 * ASSETS, BOB).abi_encode()),
        ("mint", CAROL, mint(5_000, CAROL).abi_encode()),
        ("withdraw", BOB, withdraw(1_000, BOB, BOB).abi_encode()),
        ("withdraw of too much", BOB, withdraw(ASSETS, BOB, BOB).abi_encode()),
        ("redeem", BOB, redeem(1_000, BOB, BOB).abi_encode()),
        ("redeem of too much", CAROL, redeem(5_001, CAROL, CAROL).abi_encode()),
        ("redeem without allowance", CAROL, redeem(1_000, CAROL, BOB).abi_encode()),
        ("approve", BOB, sol::approveCall { spender: CAROL, value: amount(3_000) }.abi_encode()),
        ("redeem by allowance", CAROL, redeem(1_000, CAROL, BOB).abi_encode()),
        ("withdraw by allowance", CAROL, withdraw(1, CAROL, BOB).abi_encode()),
        ("transfer", BOB, sol::transferCall { to: CAROL, value: amount(10) }.abi_encode()),
        ("transferFrom", CAROL, sol::transferFromCall { from: BOB, to: OWNER, value: amount(10) }.abi_encode()),
        ("name", BOB, sol::nameCall {}.abi_encode()),
        ("symbol", BOB, sol::symbolCall {}.abi_encode()),
        ("decimals", BOB, sol::decimalsCall {}.abi_encode()),
        ("totalSupply", BOB, sol::totalSupplyCall {}.abi_encode()),
        ("balanceOf", BOB, sol::balanceOfCall { account: BOB }.abi_encode()),
        ("allowance", BOB, sol::allowanceCall { owner: BOB, spender: CAROL }.abi_encode()),
        ("asset", BOB, sol::assetCall {}.abi_encode()),
        ("totalAssets", BOB, sol::totalAssetsCall {}.abi_encode()),
        ("convertToShares", BOB, sol::convertToSharesCall { assets: amount(100) }.abi_encode()),
        ("convertToAssets", BOB, sol::convertToAssetsCall { shares: amount(100) }.abi_encode()),
        ("maxDeposit", BOB, sol::maxDepositCall { receiver: BOB }.abi_encode()),
        ("maxMint", BOB, sol::maxMintCall { receiver: BOB }.abi_encode()),
        ("maxWithdraw", BOB, sol::maxWithdrawCall { owner: BOB }.abi_encode()),
        ("maxRedeem", BOB, sol::maxRedeemCall { owner: BOB }.abi_encode()),
        ("previewDeposit", BOB, sol::previewDepositCall { assets: amount(100) }.abi_encode()),
        ("previewMint", BOB, sol::previewMintCall { shares: amount(100) }.abi_encode()),
        ("previewWithdraw", BOB, sol::previewWithdrawCall { assets: amount(100) }.abi_encode()),
        ("previewRedeem", BOB, sol::previewRedeemCall { shares: amount(100) }.abi_encode()),
        ("entryFee", BOB, sol::entryFeeCall {}.abi_encode()),
        ("exitFee", BOB, sol::exitFeeCall {}.abi_encode()),
        ("feeRecipient", BOB, sol::feeRecipientCall {}.abi_encode()),
        ("setFees", OWNER, sol::setFeesCall { entryFee: 1, exitFee: 2 }.abi_encode()),
        ("setFees by a stranger", BOB, sol::setFeesCall { entryFee: 1, exitFee: 2 }.abi_encode()),
        ("setFees too high", OWNER, sol::setFeesCall { entryFee: 1, exitFee: FEE_MAX + 1 }.abi_encode()),
        ("setFeeRecipient", OWNER, sol::setFeeRecipientCall { recipient: vault }.abi_encode()),
        ("setFeeRecipient to nobody", OWNER, sol::setFeeRecipientCall { recipient: zero }.abi_encode()),
        ("deposit with a fee that the vault keeps", BOB, deposit(10_000, BOB).abi_encode()),
        ("owner", BOB, sol::ownerCall {}.abi_encode()),
        ("transferOwnership", OWNER, sol::transferOwnershipCall { newOwner: BOB }.abi_encode()),
        ("renounceOwnership", BOB, sol::renounceOwnershipCall {}.abi_encode()),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
    ];
    let lines = steps.map(|(name, from, input)| world.chain.line(name, from, vault, 0, &input));
    lines.concat() + &world.chain.line("value", BOB, vault, 1, &deposit(1, BOB).abi_encode())
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let kinds = [
        ("no fee", params()),
        ("fees and an offset", with_fees()),
        ("no owner", Erc4626Params { owner: None, ..params() }),
        ("no token", Erc4626Params { asset: CAROL, ..params() }),
        ("a fee above all", Erc4626Params { entry_fee: FEE_MAX + 1, ..params() }),
        ("an offset above all", Erc4626Params { decimals_offset: DECIMALS_OFFSET_MAX + 1, ..params() }),
    ];
    let mut got = String::new();
    for (name, params) in kinds {
        // Beside another vault, so that there is an asset.
        let (vault, line) = deploy(&self::params()).chain.creation_line(OWNER, name, &params.init_code());
        got += &line;
        if vault.is_some() && params.asset != CAROL {
            got += &history(&params);
        }
    }
    assert_golden(&got, include_str!("golden.txt"));
}
