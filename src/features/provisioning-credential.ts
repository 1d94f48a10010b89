/**
 * Features that write at the API server share this: they need the provisioning credential, and some of them
 * need the UIDs of tenants.
 */
import type { CredentialFiles } from '../config/core-configuration.ts';
import type { Rule } from '../config/problem.ts';
import { type Condition, type Right, rule } from '../kubernetes/right.ts';

/** The part of the configuration that names the provisioning credential. */
export interface Provisioning {
  readonly bindings: { readonly credential?: CredentialFiles };
}

/**
 * The rule that whatever writes at the API server needs the provisioning credential.
 *
 * @param what writes, if it does
 * @param does continues "must not also …"
 */
export function needsProvisioner(
  { bindings }: Provisioning,
  what: string | false | undefined,
  does: string,
): Rule {
  return [
    'bindings.credential',
    what !== false && what !== undefined && bindings.credential === undefined,
    `is required with ${what}: a credential that impersonates must not also ${does}`,
  ];
}

/**
 * The right with which the provisioner knows the UIDs of tenants, where tenants are objects.
 *
 * @param when the feature needs them
 */
export function tenantUIDRight(when: readonly Condition[]): Right {
  return { when: [...when, 'tenantsAreObjects'], rule: rule('', 'tenants', 'get list watch') };
}
