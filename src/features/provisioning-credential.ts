/**
 * The rule that whatever writes to the API server needs the provisioning credential.
 */
import type { CredentialFiles } from '../config/core-configuration.ts';
import type { Rule } from '../config/problem.ts';

/** What has the provisioning credential. */
export interface Provisioning {
  readonly bindings: { readonly credential?: CredentialFiles };
}

/**
 * Whatever writes to the API server needs the provisioning credential.
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
