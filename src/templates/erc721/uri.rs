//! Where a token's metadata is (`ERC721URIStorage`).

use super::{
    interface::MetadataUpdate,
    state::{FIXED, NFT},
    token::require_owned,
};
use crate::vm::contract::*;

/// Returns the base URI followed by the token's own, or by its id without one; without a base URI, its own.
pub(super) fn token_uri(host: &mut Host<'_>, token_id: U256) -> Result<String, Stop> {
    require_owned(host, token_id)?;
    let (base, own) = (FIXED.base_uri.get(host)?, NFT.token_uris.get(host, token_id)?);
    Ok(match (base.is_empty(), own.is_empty()) {
        (true, _) => own,
        (false, true) => format!("{base}{token_id}"),
        (false, false) => base + &own,
    })
}

/// Sets a token's own URI (`_setTokenURI`), whether it exists or not.
pub(super) fn set_token_uri(host: &mut Host<'_>, token_id: U256, uri: &str) -> Result<(), Stop> {
    NFT.token_uris.set(host, token_id, uri.to_owned())?;
    host.emit(&MetadataUpdate { _tokenId: token_id })
}
