//! Where a token's metadata is (`ERC721URIStorage`).

use super::{
    interface::MetadataUpdate,
    state::{FIXED, NFT},
    token::require_owned,
};
use crate::vm::contract::*;

/// Returns the base URI followed by the token's own, or by its id without one; without a base URI, its own. The token's own may have any
/// bytes.
pub(super) fn token_uri(host: &mut Host<'_>, token_id: U256) -> Result<Bytes, Stop> {
    require_owned(host, token_id)?;
    let base = FIXED.base_uri.get(host)?;
    let own = NFT.token_uris.at(host, token_id)?;
    let own = host.load_bytes(own.slot())?;
    let uri = match (base.is_empty(), own.is_empty()) {
        (true, _) => own,
        (false, true) => format!("{base}{token_id}").into_bytes(),
        (false, false) => [base.as_bytes(), &own].concat(),
    };
    Ok(uri.into())
}

/// Sets a token's own URI (`_setTokenURI`), whether it exists or not.
pub(super) fn set_token_uri(host: &mut Host<'_>, token_id: U256, uri: &[u8]) -> Result<(), Stop> {
    let own = NFT.token_uris.at(host, token_id)?;
    host.store_bytes(own.slot(), uri)?;
    host.emit(&MetadataUpdate { _tokenId: token_id })
}
