/**
 * The right at the API server to read the tenant of a user.
 */
import { type Right, rule } from '../../kubernetes/right.ts';

export const OWN_TENANT_RIGHTS: readonly Right[] = [
  {
    when: ['access.index', 'tenantsAreObjects'],
    comment: 'The tenant of a user, for `kubectl get tenants`.',
    consequence: '`kubectl get tenants` fails for users of tenants',
    rule: rule('', 'tenants', 'get'),
  },
];
