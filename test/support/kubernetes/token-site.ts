/**
 * A real kube-apiserver with Stonegate in shared mode, whose users may make access tokens. Keystone's roles
 * are looked up, and the RBAC index is on.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { readJSON } from '../../../src/lib/json-object.ts';
import { isObject, type JsonObject } from '../apiserver/json.ts';
import type { Reply } from '../https-client.ts';
import { type RunningStonegate, serveTestbed } from '../stonegate.ts';
import type { Testbed } from '../testbed.ts';
import type { Kubernetes, KubernetesOptions } from './api-server.ts';
import {
  addProvisioner,
  type KubernetesSiteOptions,
  type PreparedSite,
  prepareKubernetesSite,
} from './site.ts';

const TOKENS = '/apis/stonegate.dev/v1alpha1/accesstokens';
const ROTATIONS = '/apis/stonegate.dev/v1alpha1/accesstokenrotations';

/** Stonegate's own at Keystone. */
const BRIDGE = {
  password: {
    userName: 'bridge',
    userDomainName: 'Default',
    password: { fromFile: 'bridge-password' },
    scope: { system: true },
  },
};

export interface MadeToken {
  readonly name: string;
  readonly secret: string;
}

export interface TokenSite extends Pick<PreparedSite, 'letWork'> {
  readonly kubernetes: Kubernetes;
  readonly testbed: Testbed;
  readonly stonegate: RunningStonegate;
  /** Posts an AccessToken; an hour long if the spec does not say it. */
  post(credential: string, spec: object, to?: RunningStonegate): Promise<Reply>;
  make(credential: string, ...scopes: readonly string[]): Promise<MadeToken>;
  rotate(credential: string, spec: object): Promise<Reply>;
  revoke(credential: string, name: string): Promise<Reply>;
  /** The tokens that the user sees. */
  list(credential: string): Promise<readonly JsonObject[]>;
}

export interface TokenSiteOptions extends KubernetesOptions, Pick<KubernetesSiteOptions, 'portal'> {
  readonly tokens?: object;
  readonly configuration?: Record<string, object>;
}

export async function startTokenSite(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { tokens = {}, configuration, ...options }: TokenSiteOptions = {},
): Promise<TokenSite> {
  const { kubernetes, testbed, letWork } = await prepareKubernetesSite(t, {
    ...options,
    keystoneConfiguration: { serviceCredential: BRIDGE, roleAssignments: { cacheTTL: '1s' } },
    configuration: {
      access: { index: true, authorizers: ['RBAC'] },
      bindings: { credential: { tokenFile: 'provisioner-token' } },
      tokens,
      ...configuration,
    },
  });
  const { directory } = testbed.keystone;
  const bridge = directory.user('Default', 'bridge');
  for (const role of ['reader', 'service']) directory.assign(bridge, role, { system: true });
  await writeFile(join(dirname(testbed.configFile), 'bridge-password'), bridge.password);
  await addProvisioner(kubernetes, testbed.configFile);
  const stonegate = await serveTestbed(t, testbed);
  const create = (credential: string, path: string, kind: string, spec: object, to = stonegate) =>
    to.ask(credential, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'stonegate.dev/v1alpha1', kind, spec }),
    });
  const post = (credential: string, spec: object, to?: RunningStonegate) =>
    create(credential, TOKENS, 'AccessToken', { expirationSeconds: 3_600, ...spec }, to);
  return {
    kubernetes,
    testbed,
    stonegate,
    letWork,
    post,
    async make(credential, ...scopes) {
      const reply = await post(credential, { scopes });
      if (reply.status !== 201) throw new Error(`${reply.status}: ${reply.body}`);
      return madeToken(reply);
    },
    rotate: (credential, spec) => create(credential, ROTATIONS, 'AccessTokenRotation', spec),
    revoke: (credential, name) => stonegate.ask(credential, `${TOKENS}/${name}`, { method: 'DELETE' }),
    async list(credential) {
      const { body } = await stonegate.ask(credential, TOKENS);
      const list = readJSON(body);
      return isObject(list) && Array.isArray(list.items) ? list.items.filter(isObject) : [];
    },
  };
}

export function madeToken({ body }: Reply): MadeToken {
  const made: { metadata: { name: string }; status: { token: string } } = JSON.parse(body);
  return { name: made.metadata.name, secret: made.status.token };
}
