/** The revocations of the stand-in Keystone and their events, in whole seconds as a real one reports them. */
import type { User } from './directory.ts';
import type { TokenRecord, TokenStore } from './tokens.ts';

export function createRevocations(tokens: TokenStore, now: () => number) {
  const events: { readonly at: number; readonly fields: object }[] = [];

  function tell(ids: object) {
    const at = Math.floor(now() / 1000) * 1000;
    const instant = `${new Date(at).toISOString().slice(0, 19)}.000000Z`;
    events.push({ at, fields: { ...ids, issued_before: instant, revoked_at: instant } });
  }

  return {
    revoke(record: TokenRecord) {
      record.revoked = true;
      tell({ audit_id: record.auditIDs[0] });
    },
    revokeAllOf(user: User) {
      tokens.revokeAllOf(user);
      tell({ user_id: user.id });
    },
    since: (time: number) => events.filter(({ at }) => at > time).map(({ fields }) => fields),
  };
}
