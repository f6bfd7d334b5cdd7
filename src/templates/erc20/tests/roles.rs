//! Roles: who has them at first, and how they pass on.

use super::*;

const ADMIN: B256 = DEFAULT_ADMIN_ROLE;
const MINTER: B256 = token::MINTER_ROLE;

#[test]
fn an_administrator_appoints_minters_and_resigns() {
    let mut token = deploy(&params());
    let mint = sol::mintCall { to: BOB, amount: U256::ONE };
    assert_eq!([token.read(&sol::MINTER_ROLECall {}), token.read(&sol::DEFAULT_ADMIN_ROLECall {})], [MINTER, ADMIN]);
    assert_eq!(token.read(&sol::getRoleAdminCall { role: MINTER }), ADMIN);
    token.ok(OWNER, &sol::grantRoleCall { role: MINTER, account: BOB });
    let granted = sol::RoleGranted { role: MINTER, account: BOB, sender: OWNER };
    assert_eq!(token.journal.logs()[0].data, granted.encode_log_data());
    token.ok(BOB, &mint);
    token.ok(OWNER, &sol::revokeRoleCall { role: MINTER, account: BOB });
    let refused = |role| sol::AccessControlUnauthorizedAccount { account: BOB, neededRole: role };
    token.fails(BOB, &mint, &refused(MINTER));
    token.fails(BOB, &sol::grantRoleCall { role: MINTER, account: BOB }, &refused(ADMIN));
    let resign = sol::renounceRoleCall { role: ADMIN, callerConfirmation: OWNER };
    token.fails(BOB, &resign, &sol::AccessControlBadConfirmation {});
    token.ok(OWNER, &resign);
    assert!(!token.read(&sol::hasRoleCall { role: ADMIN, account: OWNER }));
    token.ok(OWNER, &mint);
}
