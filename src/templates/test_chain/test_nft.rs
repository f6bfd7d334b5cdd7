//! Tokens of ERC-721 or of ERC-1155 as plain as these allow, with any royalty, so that the gas of what sells them does not depend on the
//! templates of tokens. On request they are hostile: they refuse transfers, make a call of their own in the middle of one, or burn gas.

use alloy_json_abi::JsonAbi;

use super::actor::Trap;
use crate::{
    templates::common::{
        erc165::supports,
        receivers::{check_on_erc721_received, check_on_erc1155_received},
    },
    vm::{Marker, Template, TemplateId, abi::revert_with, contract::*},
};

alloy_sol_types::sol! {
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Nft {
        constructor(bool isMulti);

        function mint(address to, uint256 id, uint256 quantity) external;
        /// The royalty: hundredths of a per cent of the price, or an amount whatever the price is.
        function setRoyalty(address receiver, uint256 amount, bool isShare) external;
        /// Units of computation that saying the royalty takes.
        function setRoyaltyGas(uint64 units) external;
        /// Whether transfers are refused.
        function setRefusal(bool isOn) external;
        /// Whether transfers do nothing.
        function setIdle(bool isOn) external;
        /// The call that is made in the middle of the next transfer.
        function arm(address target, bytes data) external;
        function answer() external view returns (bool wasMade, bool isSuccess, bytes output);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
        function ownerOf(uint256 tokenId) external view returns (address);
        function balanceOf(address account, uint256 id) external view returns (uint256);
        function getApproved(uint256 tokenId) external view returns (address);
        function isApprovedForAll(address owner, address operator) external view returns (bool);
        function approve(address to, uint256 tokenId) external;
        function setApprovalForAll(address operator, bool approved) external;
        function transferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data) external;
        function royaltyInfo(uint256 tokenId, uint256 salePrice) external view returns (address receiver, uint256 royaltyAmount);
    }
}

use Nft::NftCalls as Calls;
pub(in crate::templates) use Nft::*;

storage! {
    /// State variables.
    contract NftStorage {
        is_multi: Slot<bool>,
        is_refusing: Slot<bool>,
        is_idle: Slot<bool>,
        royalty_receiver: Slot<Address>,
        royalty: Slot<U256>,
        is_share: Slot<bool>,
        royalty_gas: Slot<u64>,
        /// By id and holder.
        balances: Mapping<U256, Mapping<Address, U256>>,
        /// Of tokens of which there is one.
        owners: Mapping<U256, Address>,
        approved: Mapping<U256, Address>,
        operators: Mapping<Address, Mapping<Address, bool>>,
        trap: Trap,
    }
}

const NFT: NftStorage = NftStorage::STATE;

/// The tokens. Anybody mints.
#[derive(Debug)]
pub(in crate::templates) struct TestNft;

impl TestNft {
    const ID: TemplateId = TemplateId::new(0x8003, 1);

    /// Tokens of ERC-1155 if there are many of each id.
    pub(in crate::templates) fn init_code(is_multi: bool) -> Bytes {
        Marker(Self::ID).init_code(&constructorCall { isMulti: is_multi }.abi_encode())
    }
}

impl Template for TestNft {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "test-nft"
    }

    fn abi(&self) -> JsonAbi {
        Nft::abi::contract()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: constructorCall = host.decode_constructor(params)?;
        NFT.is_multi.set(host, params.isMulti)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::mint(call) => {
                NFT.owners.set(host, call.id, call.to)?;
                call.returns(NFT.balances.at(host, call.id)?.at(host, call.to)?.add(host, call.quantity)?)
            }
            Calls::setRoyalty(call) => {
                NFT.royalty_receiver.set(host, call.receiver)?;
                NFT.is_share.set(host, call.isShare)?;
                call.returns(NFT.royalty.set(host, call.amount)?)
            }
            Calls::setRoyaltyGas(call) => call.returns(NFT.royalty_gas.set(host, call.units)?),
            Calls::setRefusal(call) => call.returns(NFT.is_refusing.set(host, call.isOn)?),
            Calls::setIdle(call) => call.returns(NFT.is_idle.set(host, call.isOn)?),
            Calls::arm(call) => call.returns(NFT.trap.arm(host, call.target, call.data.clone())?),
            Calls::answer(call) => call.returns(NFT.trap.answer(host)?),
            Calls::supportsInterface(call) => {
                let id = if NFT.is_multi.get(host)? { [0xd9, 0xb6, 0x7a, 0x26] } else { [0x80, 0xac, 0x58, 0xcd] };
                call.returns(supports(call.interfaceId.0, &[id]))
            }
            Calls::ownerOf(call) => call.returns(NFT.owners.get(host, call.tokenId)?),
            Calls::balanceOf(call) => call.returns(NFT.balances.at(host, call.id)?.get(host, call.account)?),
            Calls::getApproved(call) => call.returns(NFT.approved.get(host, call.tokenId)?),
            Calls::isApprovedForAll(call) => {
                call.returns(NFT.operators.at(host, call.owner)?.get(host, call.operator)?)
            }
            Calls::approve(call) => {
                let (owner, account) = (NFT.owners.get(host, call.tokenId)?, host.caller());
                require_that(owner == account, "not the owner")?;
                call.returns(NFT.approved.set(host, call.tokenId, call.to)?)
            }
            Calls::setApprovalForAll(call) => {
                let owner = host.caller();
                call.returns(NFT.operators.at(host, owner)?.set(host, call.operator, call.approved)?)
            }
            Calls::transferFrom(call) => call.returns(transfer(host, call.from, call.to, call.tokenId, U256::ONE)?),
            Calls::safeTransferFrom_0(call) => {
                let operator = host.caller();
                transfer(host, call.from, call.to, call.tokenId, U256::ONE)?;
                let (from, to, id) = (call.from, call.to, call.tokenId);
                call.returns(check_on_erc721_received(host, operator, from, to, id, Bytes::new())?)
            }
            Calls::safeTransferFrom_1(call) => {
                let operator = host.caller();
                transfer(host, call.from, call.to, call.id, call.value)?;
                let (from, to, id, data) = (call.from, call.to, call.id, call.data.clone());
                call.returns(check_on_erc1155_received(host, operator, from, to, id, call.value, data)?)
            }
            Calls::royaltyInfo(call) => {
                let units = NFT.royalty_gas.get(host)?;
                host.compute(units)?;
                let mut amount = NFT.royalty.get(host)?;
                if NFT.is_share.get(host)? {
                    amount = mul_div(call.salePrice, amount, U256::from(10_000), Rounding::Floor)?;
                }
                call.returns((NFT.royalty_receiver.get(host)?, amount))
            }
        }
    }
}

fn transfer(host: &mut Host<'_>, from: Address, to: Address, id: U256, quantity: U256) -> Result<(), Stop> {
    let operator = host.caller();
    require_that(!NFT.is_refusing.get(host)?, "refused")?;
    NFT.trap.spring(host)?;
    if NFT.is_idle.get(host)? {
        return Ok(());
    }
    let is_approved = operator == from
        || NFT.operators.at(host, from)?.get(host, operator)?
        || NFT.approved.get(host, id)? == operator;
    require_that(is_approved, "not approved")?;
    NFT.balances.at(host, id)?.at(host, from)?.sub(host, quantity)?;
    NFT.balances.at(host, id)?.at(host, to)?.add(host, quantity)?;
    NFT.owners.set(host, id, to)?;
    NFT.approved.set(host, id, Address::ZERO)
}

fn require_that(condition: bool, reason: &str) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(revert_with(reason)) }
}
