/** The access tokens of a user, through Stonegate’s own API. */
import { readJSON } from '../../src/lib/json-object.ts';
import { isObject } from './apiserver/json.ts';
import { type HttpsClient, posted, type Reply } from './https-client.ts';

export const TOKENS = '/apis/stonegate.dev/v1alpha1/accesstokens';
const ROTATIONS = '/apis/stonegate.dev/v1alpha1/accesstokenrotations';

export interface MadeToken {
  readonly name: string;
  readonly secret: string;
}

export type TokenClient = ReturnType<typeof createTokenClient>;

export function createTokenClient({ ask }: Pick<HttpsClient, 'ask'>) {
  const create = (credential: string, path: string, kind: string, spec: object) =>
    ask(credential, path, posted({ apiVersion: 'stonegate.dev/v1alpha1', kind, spec }));
  const post = (credential: string, spec: object) =>
    create(credential, TOKENS, 'AccessToken', { expirationSeconds: 3_600, ...spec });
  return {
    /** Posts an AccessToken, which by default is valid for an hour. */
    post,
    async make(credential: string, ...scopes: readonly string[]) {
      const reply = await post(credential, { scopes });
      if (reply.status !== 201) throw new Error(`${reply.status}: ${reply.body}`);
      return madeToken(reply);
    },
    rotate: (credential: string, spec: object) => create(credential, ROTATIONS, 'AccessTokenRotation', spec),
    revoke: (credential: string, name: string) => ask(credential, `${TOKENS}/${name}`, { method: 'DELETE' }),
    /** The tokens that the user sees. */
    async list(credential: string) {
      const list = readJSON((await ask(credential, TOKENS)).body);
      return isObject(list) && Array.isArray(list.items) ? list.items.filter(isObject) : [];
    },
  };
}

export function madeToken({ body }: Reply): MadeToken {
  const made: { metadata: { name: string }; status: { token: string } } = JSON.parse(body);
  return { name: made.metadata.name, secret: made.status.token };
}
