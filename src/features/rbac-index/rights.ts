/**
 * The rights at the API server that the RBAC index needs.
 */
import { type Right, rule } from '../../kubernetes/right.ts';

const INCOMPLETE = 'the RBAC index (access.index) is never complete';

export const RBAC_INDEX_RIGHTS: readonly Right[] = [
  {
    when: ['access.index'],
    comment: 'The RBAC index: the names of all namespaces, and what every user and service account may do.',
    consequence: INCOMPLETE,
    rule: rule('', 'namespaces', 'list watch'),
  },
  {
    when: ['access.index'],
    consequence: INCOMPLETE,
    rule: rule(
      'rbac.authorization.k8s.io',
      'roles clusterroles rolebindings clusterrolebindings',
      'list watch',
    ),
  },
];
