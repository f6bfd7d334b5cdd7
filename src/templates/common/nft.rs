//! Tokens of ERC-721 and ERC-1155 alike: whose they are, and how they are moved with their holder's approval.

use self::interface::{
    InvalidQuantity, TokenNotApproved, TokenNotHeld, UnsupportedToken, balanceOfCall, getApprovedCall,
    isApprovedForAllCall, ownerOfCall, safeTransferFrom_0Call, safeTransferFrom_1Call, supportsInterfaceCall,
    transferFromCall,
};
use crate::{
    primitives::Gas,
    vm::{contract::*, storage::Packed},
};

/// Functions of tokens, and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The contract says of neither ERC-721 nor ERC-1155 that it supports it (ERC-165).
        error UnsupportedToken(address assetContract);
        /// The account has not so many of the token, or not any longer.
        error TokenNotHeld(address assetContract, uint256 tokenId, address holder, uint256 quantity);
        /// The holder does not let this contract move the token, or not any longer.
        error TokenNotApproved(address assetContract, uint256 tokenId, address holder);
        /// None, or more than there are: a token of ERC-721 is one.
        error InvalidQuantity(uint256 quantity, uint256 available);

        function supportsInterface(bytes4 interfaceId) external view returns (bool);
        function ownerOf(uint256 tokenId) external view returns (address);
        function getApproved(uint256 tokenId) external view returns (address);
        function isApprovedForAll(address owner, address operator) external view returns (bool);
        function balanceOf(address account, uint256 id) external view returns (uint256);
        function transferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data) external;
    }
}

/// ERC-165 id of ERC-721.
const ERC721_ID: [u8; 4] = [0x80, 0xac, 0x58, 0xcd];

/// ERC-165 id of ERC-1155.
const ERC1155_ID: [u8; 4] = [0xd9, 0xb6, 0x7a, 0x26];

/// The standard of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TokenType {
    /// One token of each id.
    Erc721 = 0,
    /// Many of each id.
    Erc1155 = 1,
}

/// A token, or many of one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nft {
    /// Contract of the token.
    pub collection: Address,
    /// The token.
    pub token_id: U256,
    /// Its standard.
    pub token_type: TokenType,
}

impl TokenType {
    /// Returns the standard that a contract says it supports.
    ///
    /// # Errors
    /// [`UnsupportedToken`]; [`Stop`].
    pub fn of(host: &mut Host<'_>, collection: Address) -> Result<Self, Stop> {
        for (id, token_type) in [(ERC721_ID, Self::Erc721), (ERC1155_ID, Self::Erc1155)] {
            if view(host, collection, &supportsInterfaceCall { interfaceId: id.into() })? == Some(true) {
                return Ok(token_type);
            }
        }
        Err(revert(&UnsupportedToken { assetContract: collection }))
    }
}

impl Nft {
    /// Returns a token of a contract.
    ///
    /// # Errors
    /// As [`TokenType::of`].
    pub fn of(host: &mut Host<'_>, collection: Address, token_id: U256) -> Result<Self, Stop> {
        Ok(Self { collection, token_id, token_type: TokenType::of(host, collection)? })
    }

    /// Refuses a quantity of none, or above 1 for a token of ERC-721.
    ///
    /// # Errors
    /// [`InvalidQuantity`].
    pub fn check_quantity(&self, quantity: U256) -> Result<(), Stop> {
        let available = if self.token_type == TokenType::Erc721 { U256::ONE } else { U256::MAX };
        check_available(quantity, available)
    }

    /// Refuses an account that has not so many, or has not approved the running contract.
    ///
    /// # Errors
    /// [`TokenNotHeld`]; [`TokenNotApproved`]; [`Stop`].
    pub fn check_held_and_approved(&self, host: &mut Host<'_>, holder: Address, quantity: U256) -> Result<(), Stop> {
        let Self { collection, token_id, .. } = *self;
        let held = TokenNotHeld { assetContract: collection, tokenId: token_id, holder, quantity };
        require(self.is_held(host, holder, quantity)?, held)?;
        let approved = TokenNotApproved { assetContract: collection, tokenId: token_id, holder };
        require(self.is_approved(host, holder)?, approved)
    }

    /// Returns how many an account has.
    ///
    /// # Errors
    /// What the token reverts with; a revert without data when it returns no `uint256`; [`Stop`].
    pub fn balance(&self, host: &mut Host<'_>, account: Address) -> Result<U256, Stop> {
        let Self { collection, token_id, token_type } = *self;
        if token_type == TokenType::Erc721 {
            return Ok(U256::from(self.is_held(host, account, U256::ONE)?));
        }
        let call = balanceOfCall { account, id: token_id };
        let answer = host.static_call(collection, &call.abi_encode())?.or_revert()?;
        balanceOfCall::abi_decode_returns_validate(&answer).map_err(|_| empty_revert())
    }

    /// Returns whether an account has so many.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn is_held(&self, host: &mut Host<'_>, holder: Address, quantity: U256) -> Result<bool, Stop> {
        let Self { collection, token_id, .. } = *self;
        match self.token_type {
            TokenType::Erc721 => Ok(view(host, collection, &ownerOfCall { tokenId: token_id })? == Some(holder)),
            TokenType::Erc1155 => {
                let balance = view(host, collection, &balanceOfCall { account: holder, id: token_id })?;
                Ok(balance.is_some_and(|balance| balance >= quantity))
            }
        }
    }

    /// Returns whether an account lets the running contract move the token.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn is_approved(&self, host: &mut Host<'_>, holder: Address) -> Result<bool, Stop> {
        let operator = host.address();
        let of_all = isApprovedForAllCall { owner: holder, operator };
        if view(host, self.collection, &of_all)? == Some(true) {
            return Ok(true);
        }
        let of_one = getApprovedCall { tokenId: self.token_id };
        Ok(self.token_type == TokenType::Erc721 && view(host, self.collection, &of_one)? == Some(operator))
    }

    /// Moves tokens of an account that approved the running contract, or of this itself (`safeTransferFrom`): a contract that receives them
    /// is asked.
    ///
    /// # Errors
    /// What the token reverts with; a revert without data when it is no contract; [`Stop`].
    pub fn transfer(&self, host: &mut Host<'_>, from: Address, to: Address, quantity: U256) -> Result<(), Stop> {
        if !host.has_code(&self.collection)? {
            return Err(empty_revert());
        }
        host.call(self.collection, U256::ZERO, &self.safe_transfer_input(from, to, quantity))?.or_revert().map(drop)
    }

    /// Moves tokens of the running contract, with at most so much gas, if the token and its recipient let it. Returns whether they did.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn try_transfer(&self, host: &mut Host<'_>, to: Address, quantity: U256, gas: Gas) -> Result<bool, Stop> {
        let input = self.safe_transfer_input(host.address(), to, quantity);
        Ok(host.call_with_gas(self.collection, U256::ZERO, &input, gas)?.is_success())
    }

    /// Moves tokens of an account that approved the running contract to this: a token of ERC-721 without asking it (`transferFrom`).
    ///
    /// # Errors
    /// As [`Nft::transfer`]; [`TokenNotHeld`] when they have not come.
    pub fn take(&self, host: &mut Host<'_>, from: Address, quantity: U256) -> Result<(), Stop> {
        let own = host.address();
        let Self { collection, token_id, token_type } = *self;
        match token_type {
            TokenType::Erc721 => {
                let call = transferFromCall { from, to: own, tokenId: token_id };
                host.call(collection, U256::ZERO, &call.abi_encode())?.or_revert()?;
                let missing = TokenNotHeld { assetContract: collection, tokenId: token_id, holder: own, quantity };
                require(self.is_held(host, own, quantity)?, missing)
            }
            TokenType::Erc1155 => {
                let balance = balanceOfCall { account: own, id: token_id };
                let before = view(host, collection, &balance)?.unwrap_or_default();
                self.transfer(host, from, own, quantity)?;
                let come = view(host, collection, &balance)?.unwrap_or_default().saturating_sub(before);
                let missing = TokenNotHeld { assetContract: collection, tokenId: token_id, holder: own, quantity };
                require(come == quantity, missing)
            }
        }
    }

    fn safe_transfer_input(&self, from: Address, to: Address, quantity: U256) -> Vec<u8> {
        match self.token_type {
            TokenType::Erc721 => safeTransferFrom_0Call { from, to, tokenId: self.token_id }.abi_encode(),
            TokenType::Erc1155 => {
                safeTransferFrom_1Call { from, to, id: self.token_id, value: quantity, data: Bytes::new() }.abi_encode()
            }
        }
    }
}

/// Refuses a quantity of none, or of more than there are.
///
/// # Errors
/// [`InvalidQuantity`].
pub fn check_available(quantity: U256, available: U256) -> Result<(), Stop> {
    require(!quantity.is_zero() && quantity <= available, InvalidQuantity { quantity, available })
}

/// Returns what a `view` function returns; `None` when it fails or returns something else.
fn view<C: SolCall>(host: &mut Host<'_>, contract: Address, call: &C) -> Result<Option<C::Return>, Stop> {
    let answer = host.static_call(contract, &call.abi_encode())?;
    Ok(C::abi_decode_returns_validate(&answer.output).ok().filter(|_| answer.is_success()))
}

impl Packed for TokenType {
    const BYTES: u8 = 1;

    fn from_stored(word: U256) -> Self {
        // Another value than 0 and 1 can come by an intervention only.
        if word.is_zero() { Self::Erc721 } else { Self::Erc1155 }
    }

    fn to_stored(self) -> U256 {
        U256::from(self as u8)
    }

    fn solidity() -> String {
        "enum TokenType".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::{erc721::interface as erc721, erc1155::interface as erc1155};

    #[test]
    fn functions_are_those_of_the_standards() {
        assert_eq!(ownerOfCall::SELECTOR, erc721::ownerOfCall::SELECTOR);
        assert_eq!(getApprovedCall::SELECTOR, erc721::getApprovedCall::SELECTOR);
        assert_eq!(transferFromCall::SELECTOR, erc721::transferFromCall::SELECTOR);
        assert_eq!(safeTransferFrom_0Call::SELECTOR, erc721::safeTransferFrom_0Call::SELECTOR);
        assert_eq!(safeTransferFrom_1Call::SELECTOR, erc1155::safeTransferFromCall::SELECTOR);
        assert_eq!(balanceOfCall::SELECTOR, erc1155::balanceOfCall::SELECTOR);
        assert_eq!(isApprovedForAllCall::SELECTOR, erc1155::isApprovedForAllCall::SELECTOR);
    }

    #[test]
    fn a_quantity_is_one_of_a_kind_or_some_of_many() {
        let nft = |token_type| Nft { collection: Address::ZERO, token_id: U256::ZERO, token_type };
        for (token_type, quantity, is_good) in [
            (TokenType::Erc721, U256::ZERO, false),
            (TokenType::Erc721, U256::ONE, true),
            (TokenType::Erc721, U256::from(2), false),
            (TokenType::Erc1155, U256::ZERO, false),
            (TokenType::Erc1155, U256::MAX, true),
        ] {
            assert_eq!(nft(token_type).check_quantity(quantity).is_ok(), is_good, "{token_type:?} {quantity}");
        }
    }
}
