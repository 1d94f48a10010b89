/**
 * Refuses tokens whose groups are elsewhere (distributed claims, Entra ID's group overage). Stonegate sends
 * no request to an address that a token names, and to treat such a token as one without groups would remove
 * rights at random.
 * OpenID Connect Core 1.0 §5.6.2;
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference#groups-overage-claim
 */
import { StatusError } from '../../errors/status-error.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { quoted } from './jwt-claims.ts';
import { stringMember } from './jwt-parser.ts';
import type { VerifiedJWT } from './jwt-verifier.ts';

/**
 * @param strict whether any hint counts, even if the token also holds groups or names no address
 * @throws StatusError GroupsOverflow
 */
export function groupsElsewhere({ claims, elsewhere }: VerifiedJWT, claim: string, strict: boolean): void {
  const source = Object.hasOwn(elsewhere, claim) ? elsewhere[claim] : undefined;
  const hint = Object.hasOwn(claims, 'hasgroups') ? claims.hasgroups : undefined;
  const hinted = claim === 'groups' && (hint === true || hint === 'true');
  const names = Object.hasOwn(claims, '_claim_names') ? claims._claim_names : undefined;
  const distributed = isJSONObject(names) && Object.hasOwn(names, claim);
  const asked =
    source !== undefined && !Object.hasOwn(claims, claim) && stringMember(source, 'endpoint') !== undefined;
  if (strict ? !distributed && !hinted : !asked) return;
  throw new StatusError(
    'GroupsOverflow',
    `your groups do not fit into the token, which only says where else to find them: ask the administrator of the issuer to send only groups assigned to the application, or application roles instead of ${quoted(claim)}`,
  );
}
