/**
 * Access tokens in Stonegate's own API.
 */

import { column } from '../../kubernetes/lists/namespace-columns.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { ownIdentity } from '../../proxy/as-identity.ts';
import type { ServedResource } from '../../proxy/feature.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import { answerOwnObjects, type OwnObjectKind } from '../../proxy/response/own-objects.ts';
import { deletedResponse, secretResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import {
  accessTokenSpecSchema,
  OWN_ACCESS_TOKENS,
  OWN_ROTATIONS,
  rotationSpecSchema,
  type ShownToken,
} from './access-token-v1alpha1.ts';
import type { AccessTokens } from './access-tokens.ts';

const apiVersion = 'stonegate.dev/v1alpha1';
const KIND: OwnObjectKind<ShownToken> = {
  apiVersion,
  kind: 'AccessToken',
  resource: 'accesstokens',
  columns: [
    { ...column('Scopes', 'What it may do'), cell: scopesOf },
    { ...column('State', 'Whether it counts'), cell: ({ status }) => status.state },
    { ...column('Expires', 'When it ends'), cell: ({ status }) => status.expirationTimestamp },
    { ...column('Last Used', 'To the hour'), cell: ({ status }) => status.lastUsedTimestamp ?? '<never>' },
    { ...column('Description', 'What it is for'), cell: ({ spec }) => spec.description ?? '' },
  ],
};
const SHOWN_ONCE =
  'the secret is only in this response: kubectl create -o jsonpath={.status.token} prints it';
const TOKEN = ownKind('AccessToken', 'an access token', accessTokenSpecSchema);
const ROTATION = ownKind('AccessTokenRotation', 'a rotation', rotationSpecSchema);

export function tokenResources(
  tokens: AccessTokens,
  { clock, bodies }: { readonly clock: Clock; readonly bodies: OwnBodyOptions },
): ServedResource[] {
  return [
    {
      ...OWN_ACCESS_TOKENS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const proven = ownIdentity(outgoing);
        const { name } = routeAs(outgoing, 'own-api');
        if (exchange.method === 'POST') {
          const spec = await readOwnSpec(exchange, TOKEN, bodies);
          return madeResponse(KIND.kind, await tokens.create(proven, spec, exchange.signal));
        }
        if (exchange.method === 'DELETE') {
          await tokens.revoke(proven, name, exchange.signal);
          return deletedResponse(KIND.resource, name);
        }
        return answerOwnObjects(outgoing, name === '' ? undefined : name, KIND, clock.now(), () =>
          tokens.list(proven),
        );
      },
    },
    {
      ...OWN_ROTATIONS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const proven = ownIdentity(outgoing);
        const { name, overlapSeconds } = await readOwnSpec(exchange, ROTATION, bodies);
        const rotated = await tokens.rotate(proven, name, overlapSeconds, exchange.signal);
        return madeResponse(OWN_ROTATIONS.kind, rotated, { name, overlapSeconds });
      },
    },
  ];
}

/** kubectl prints warnings, but not the object unasked. */
function madeResponse(kind: string, made: ShownToken, spec: object = made.spec): UpstreamResponse {
  const warnings = [SHOWN_ONCE, ...(made.status.notes ?? [])];
  return withWarnings(secretResponse({ kind, apiVersion, ...made, spec }), warnings);
}

function scopesOf({ spec: { scopes, rules = [] } }: ShownToken): string {
  return [...scopes, ...(rules.length > 0 ? [`${rules.length} rules`] : [])].join(' ');
}
