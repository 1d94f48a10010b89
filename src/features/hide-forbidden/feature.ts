/**
 * The feature `hide-forbidden`: a user who may not learn of an object gets the response for a missing one.
 * See docs/access.md.
 */
import { type AuthorizationMode, isRBACAlone } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';
import { NO_INDEX } from '../rbac-index/feature.ts';

interface HideForbiddenReads {
  readonly access: { readonly index: boolean; readonly authorizers: readonly AuthorizationMode[] };
  readonly authorization: { readonly hideForbidden: boolean };
}

export const hideForbidden = defineFeature({
  name: 'hide-forbidden',
  sections: {},
  rules: ({ access: { index, authorizers }, authorization: { hideForbidden } }: HideForbiddenReads) => [
    ['authorization.hideForbidden', !index && hideForbidden, NO_INDEX],
    [
      'authorization.hideForbidden',
      index && hideForbidden && !isRBACAlone(authorizers),
      'expected access.authorizers to state [Node, RBAC]: the index does not know what another authorizer lets a user read',
    ],
  ],
  reads: ({ authorization: { hideForbidden } }: HideForbiddenReads) => ({ isOn: hideForbidden }),
});
