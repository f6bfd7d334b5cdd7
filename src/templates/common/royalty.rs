//! OpenZeppelin's `ERC2981`: who gets what part of a token's price, for all tokens or for one (ERC-2981).

use alloy_primitives::aliases::U96;

use self::interface::{
    ERC2981InvalidDefaultRoyalty, ERC2981InvalidDefaultRoyaltyReceiver, ERC2981InvalidTokenRoyalty,
    ERC2981InvalidTokenRoyaltyReceiver,
};
use super::erc165;
use crate::vm::contract::*;

/// Functions and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The royalty of all tokens would be above the price.
        error ERC2981InvalidDefaultRoyalty(uint256 numerator, uint256 denominator);
        /// Nobody would get the royalty of all tokens.
        error ERC2981InvalidDefaultRoyaltyReceiver(address receiver);
        /// The royalty of a token would be above the price.
        error ERC2981InvalidTokenRoyalty(uint256 tokenId, uint256 numerator, uint256 denominator);
        /// Nobody would get the royalty of a token.
        error ERC2981InvalidTokenRoyaltyReceiver(uint256 tokenId, address receiver);

        /// The function, whose selector is the interface's id.
        interface IERC2981 {
            function royaltyInfo(uint256 tokenId, uint256 salePrice) external view returns (address receiver, uint256 royaltyAmount);
        }
    }
}

/// ERC-165 id of `IERC2981`.
pub const INTERFACE_ID: [u8; 4] = erc165::interface_id(&[interface::IERC2981::royaltyInfoCall::SELECTOR]);

/// The whole price as a royalty (`_feeDenominator`): one unit is 1/10,000 of it, a hundredth of a per cent.
pub const FEE_DENOMINATOR: u16 = 10_000;

record! {
    /// A royalty.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RoyaltyInfo {
        /// Who gets it; zero for one that is not set.
        pub receiver: Address,
        /// Part of the price, in 1/[`FEE_DENOMINATOR`].
        pub royalty_fraction: U96,
    }
}

storage! {
    /// The royalties.
    pub contract Erc2981 {
        /// That of tokens without one of their own.
        pub default_royalty_info: Slot<RoyaltyInfo>,
        /// Those of single tokens, by id.
        pub token_royalty_info: Mapping<U256, RoyaltyInfo>,
    }
}

impl Erc2981 {
    /// Returns who gets a token's royalty, and how much of the price (`royaltyInfo`), in the unit of the price.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn royalty_info(self, host: &mut Host<'_>, token_id: U256, sale_price: U256) -> Result<(Address, U256), Stop> {
        let mut royalty = self.token_royalty_info.get(host, token_id)?;
        if royalty.receiver.is_zero() {
            royalty = self.default_royalty_info.get(host)?;
        }
        let amount = mul_div(sale_price, U256::from(royalty.royalty_fraction), denominator(), Rounding::Floor)?;
        Ok((royalty.receiver, amount))
    }

    /// Sets the royalty of tokens without one of their own, whoever calls (`_setDefaultRoyalty`); `fee` is in 1/[`FEE_DENOMINATOR`].
    ///
    /// # Errors
    /// [`ERC2981InvalidDefaultRoyalty`] above the whole price; [`ERC2981InvalidDefaultRoyaltyReceiver`] for nobody; [`Stop`].
    pub fn set_default_royalty(self, host: &mut Host<'_>, receiver: Address, fee: U96) -> Result<(), Stop> {
        let (numerator, denominator) = (U256::from(fee), denominator());
        require(numerator <= denominator, ERC2981InvalidDefaultRoyalty { numerator, denominator })?;
        require(!receiver.is_zero(), ERC2981InvalidDefaultRoyaltyReceiver { receiver })?;
        self.default_royalty_info.set(host, RoyaltyInfo { receiver, royalty_fraction: fee })
    }

    /// Removes the royalty of tokens without one of their own, whoever calls (`_deleteDefaultRoyalty`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn delete_default_royalty(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.default_royalty_info.set(host, RoyaltyInfo::default())
    }

    /// Sets the royalty of one token, whoever calls (`_setTokenRoyalty`); `fee` is in 1/[`FEE_DENOMINATOR`].
    ///
    /// # Errors
    /// [`ERC2981InvalidTokenRoyalty`] above the whole price; [`ERC2981InvalidTokenRoyaltyReceiver`] for nobody; [`Stop`].
    pub fn set_token_royalty(
        self,
        host: &mut Host<'_>,
        token_id: U256,
        receiver: Address,
        fee: U96,
    ) -> Result<(), Stop> {
        let (numerator, denominator) = (U256::from(fee), denominator());
        require(numerator <= denominator, ERC2981InvalidTokenRoyalty { tokenId: token_id, numerator, denominator })?;
        require(!receiver.is_zero(), ERC2981InvalidTokenRoyaltyReceiver { tokenId: token_id, receiver })?;
        self.token_royalty_info.set(host, token_id, RoyaltyInfo { receiver, royalty_fraction: fee })
    }

    /// Gives a token the royalty of all others again, whoever calls (`_resetTokenRoyalty`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn reset_token_royalty(self, host: &mut Host<'_>, token_id: U256) -> Result<(), Stop> {
        self.token_royalty_info.set(host, token_id, RoyaltyInfo::default())
    }
}

fn denominator() -> U256 {
    U256::from(FEE_DENOMINATOR)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vm::sandbox::Sandbox;

    const ROYALTIES: Erc2981 = Erc2981::STATE;
    const BOB: Address = Address::repeat_byte(0xbb);
    const CAROL: Address = Address::repeat_byte(0xcc);

    fn fee(n: u64) -> U96 {
        U96::from(n)
    }

    fn royalty(sandbox: &mut Sandbox, token_id: u64, price: U256) -> (Address, U256) {
        sandbox.run(move |host| ROYALTIES.royalty_info(host, U256::from(token_id), price)).unwrap()
    }

    #[test]
    fn a_token_has_its_own_royalty_or_that_of_all() {
        let mut sandbox = Sandbox::new();
        let (price, seven) = (U256::from(1_999), U256::from(7));
        assert_eq!(royalty(&mut sandbox, 7, price), (Address::ZERO, U256::ZERO));
        sandbox.run(|host| ROYALTIES.set_default_royalty(host, BOB, fee(250))).unwrap();
        sandbox.run(move |host| ROYALTIES.set_token_royalty(host, seven, CAROL, fee(10_000))).unwrap();
        assert_eq!(royalty(&mut sandbox, 7, price), (CAROL, price));
        assert_eq!(royalty(&mut sandbox, 8, price), (BOB, U256::from(49)), "49.975, rounded down");
        assert_eq!(royalty(&mut sandbox, 7, U256::MAX), (CAROL, U256::MAX), "the product has 512 bits");
        sandbox.run(|host| ROYALTIES.delete_default_royalty(host)).unwrap();
        assert_eq!(royalty(&mut sandbox, 8, price), (Address::ZERO, U256::ZERO));
        assert_eq!(royalty(&mut sandbox, 7, price), (CAROL, price));
        sandbox.run(|host| ROYALTIES.set_default_royalty(host, BOB, fee(1))).unwrap();
        sandbox.run(move |host| ROYALTIES.reset_token_royalty(host, seven)).unwrap();
        assert_eq!(royalty(&mut sandbox, 7, U256::from(10_000)), (BOB, U256::ONE));
    }

    #[test]
    fn a_royalty_has_a_receiver_and_is_at_most_the_price() {
        let mut sandbox = Sandbox::new();
        let (token_id, receiver) = (U256::from(3), Address::ZERO);
        let (numerator, denominator) = (U256::from(10_001), U256::from(10_000));
        let above = ERC2981InvalidDefaultRoyalty { numerator, denominator };
        // The fee is judged before the receiver.
        let got = sandbox.run(move |host| ROYALTIES.set_default_royalty(host, receiver, fee(10_001)));
        assert_eq!(got, Err(revert(&above)));
        let got = sandbox.run(move |host| ROYALTIES.set_default_royalty(host, receiver, fee(10_000)));
        assert_eq!(got, Err(revert(&ERC2981InvalidDefaultRoyaltyReceiver { receiver })));
        let above = ERC2981InvalidTokenRoyalty { tokenId: token_id, numerator, denominator };
        let got = sandbox.run(move |host| ROYALTIES.set_token_royalty(host, token_id, receiver, fee(10_001)));
        assert_eq!(got, Err(revert(&above)));
        let got = sandbox.run(move |host| ROYALTIES.set_token_royalty(host, token_id, receiver, fee(0)));
        assert_eq!(got, Err(revert(&ERC2981InvalidTokenRoyaltyReceiver { tokenId: token_id, receiver })));
    }

    #[test]
    fn ids_and_slots_are_openzeppelins() {
        assert_eq!(INTERFACE_ID, [0x2a, 0x55, 0x20, 0x5a]);
        assert_eq!(ERC2981InvalidDefaultRoyalty::SIGNATURE, "ERC2981InvalidDefaultRoyalty(uint256,uint256)");
        assert_eq!(
            ERC2981InvalidTokenRoyaltyReceiver::SIGNATURE,
            "ERC2981InvalidTokenRoyaltyReceiver(uint256,address)"
        );
        let layout = StorageLayout::of::<Erc2981>();
        let labels: Vec<_> = layout.storage.iter().map(|variable| variable.label.as_str()).collect();
        assert_eq!(labels, ["_defaultRoyaltyInfo", "_tokenRoyaltyInfo"]);
        // One slot: the receiver in the lowest twenty bytes.
        let mut sandbox = Sandbox::new();
        sandbox.run(|host| ROYALTIES.set_default_royalty(host, BOB, fee(250))).unwrap();
        let receiver = U256::from_be_bytes(BOB.into_word().0);
        assert_eq!(sandbox.slot(U256::ZERO), (U256::from(250) << 160_usize) | receiver);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against the quotient and the rest of the price, each multiplied apart.
        #[test]
        fn amounts_are_parts_of_the_price(limbs: [u64; 4], part in 0_u64..=10_000) {
            let mut sandbox = Sandbox::new();
            sandbox.run(move |host| ROYALTIES.set_default_royalty(host, BOB, fee(part))).unwrap();
            let (price, whole, part) = (U256::from_limbs(limbs), U256::from(10_000), U256::from(part));
            let (quotient, rest) = price.div_rem(whole);
            prop_assert_eq!(royalty(&mut sandbox, 0, price), (BOB, quotient * part + rest * part / whole));
        }
    }
}
