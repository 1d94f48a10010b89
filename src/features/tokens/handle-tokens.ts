/**
 * Responds to requests for `accesstokens` and `accesstokenrotations` of Stonegate's own API.
 */
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ownIdentity } from '../../proxy/as-identity.ts';
import type { ServedResource } from '../../proxy/feature.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import { type OwnBodyOptions, ownKind, readOwnSpec, refuseDryRun } from '../../proxy/own-body.ts';
import { answerOwnObjects, type OwnObjectKind, typeMeta } from '../../proxy/response/own-objects.ts';
import { deletedResponse, secretResponse, withWarnings } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
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
  ...OWN_ACCESS_TOKENS,
  columns: [
    ['Scopes', 'What it may do', scopesOf],
    ['State', 'Whether it is valid', ({ status }) => status.state],
    ['Expires', 'When it ends', ({ status }) => status.expirationTimestamp],
    ['Last Used', 'To the hour', ({ status }) => status.lastUsedTimestamp ?? '<never>'],
    ['Description', 'What it is for', ({ spec }) => spec.description ?? ''],
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
        await refuseDryRun(outgoing, bodies);
        if (exchange.method === 'POST') {
          const spec = await readOwnSpec(exchange, TOKEN, bodies);
          return madeResponse(OWN_ACCESS_TOKENS, await tokens.create(proven, spec, exchange.signal));
        }
        if (exchange.method === 'DELETE') {
          await tokens.revoke(proven, name, exchange.signal);
          return deletedResponse(KIND.name, name);
        }
        return answerOwnObjects(outgoing, name, KIND, bodies.clock.now(), () => tokens.list(proven));
      },
    },
    {
      ...OWN_ROTATIONS,
      async handle(outgoing) {
        const { exchange } = outgoing;
        const proven = ownIdentity(outgoing);
        await refuseDryRun(outgoing, bodies);
        const { name, overlapSeconds } = await readOwnSpec(exchange, ROTATION, bodies);
        const rotated = await tokens.rotate(proven, name, overlapSeconds, exchange.signal);
        return madeResponse(OWN_ROTATIONS, rotated, { name, overlapSeconds });
      },
    },
  ];
}

/** kubectl prints warnings, but not the object unasked. */
function madeResponse(kind: OwnResource, made: ShownToken, spec: object = made.spec): UpstreamResponse {
  const warnings = [SHOWN_ONCE, ...(made.status.notes ?? [])];
  return withWarnings(secretResponse({ ...typeMeta(kind), ...made, spec }), warnings);
}
