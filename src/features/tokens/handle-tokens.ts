/**
 * Responds to requests for `accesstokens` and `accesstokenrotations` of Stonegate's own API.
 */
import { StatusError } from '../../errors/status-error.ts';
import { column } from '../../kubernetes/lists/namespace-columns.ts';
import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { ServedResource } from '../../proxy/feature.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { answerOwnObjects, deletedOwnObject, type OwnObjectKind } from '../../proxy/response/own-objects.ts';
import { jsonResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { Identity } from '../../tenancy/identity.ts';
import {
  accessTokenSpecSchema,
  OWN_ACCESS_TOKENS,
  OWN_ROTATIONS,
  rotationSpecSchema,
  type ShownToken,
  scopesOf,
} from './access-token-v1alpha1.ts';
import type { AccessTokens } from './access-tokens.ts';

const KIND: OwnObjectKind<ShownToken> = {
  apiVersion: 'stonegate.dev/v1alpha1',
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

export function tokenResources(tokens: AccessTokens, bodies: OwnBodyOptions): ServedResource[] {
  return [
    {
      ...OWN_ACCESS_TOKENS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const proven = ownIdentity(outgoing);
        const { name } = routeAs(outgoing, 'own-api');
        if (exchange.method === 'POST') {
          const spec = await readOwnSpec(exchange, TOKEN, bodies);
          return secretResponse('AccessToken', await tokens.create(proven, spec, exchange.signal));
        }
        if (exchange.method === 'DELETE') {
          await tokens.revoke(proven, name, exchange.signal);
          // kubectl waits until no object of this UID is left, and a revoked token has none.
          return deletedOwnObject(KIND, name, name);
        }
        return answerOwnObjects(outgoing, name, KIND, bodies.clock.now(), () => tokens.list(proven));
      },
    },
    {
      ...OWN_ROTATIONS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const proven = ownIdentity(outgoing);
        const { name, overlapSeconds } = await readOwnSpec(exchange, ROTATION, bodies);
        const rotated = await tokens.rotate(proven, name, overlapSeconds, exchange.signal);
        return secretResponse('AccessTokenRotation', rotated, { name, overlapSeconds });
      },
    },
  ];
}

/** @throws StatusError ImpersonationForbidden: only a credential of their own proves who a user is */
function ownIdentity({ proven, impersonator }: Outgoing): Identity {
  if (impersonator === undefined) return proven;
  throw new StatusError(
    'ImpersonationForbidden',
    'impersonation is refused: users make access tokens for themselves alone',
  );
}

/** It has a secret: nothing on the way may store it. kubectl prints warnings, but not the object unasked. */
function secretResponse(kind: string, made: ShownToken, spec: object = made.spec): UpstreamResponse {
  const warnings = [SHOWN_ONCE, ...(made.status.notes ?? [])];
  const response = jsonResponse(201, { kind, apiVersion: KIND.apiVersion, ...made, spec });
  const headers = [['Content-Type', JSON_TYPE] as const, ['Cache-Control', 'no-store'] as const];
  return withWarnings({ ...response, headers }, warnings);
}
