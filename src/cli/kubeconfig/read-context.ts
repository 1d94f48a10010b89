/**
 * Reads a context of the user's kubeconfig: its server, and the user's credential, which may come from a
 * credential plugin. In several files the first definition of a name counts, and relative paths refer to the
 * file that contains them.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { ImpersonatedUser } from '../../kubernetes/impersonation-headers.ts';
import { displayedFileName } from '../../lib/file-errors.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { readGiven } from '../given-file.ts';
import { readYAML } from '../read-yaml.ts';
import type { StonegateAddress } from '../stonegate-api.ts';
import { type ExecToken, runExecPlugin } from './exec-plugin.ts';
import { readKubeconfigFile } from './file.ts';

export interface KubeContext extends Pick<StonegateAddress, 'url' | 'ca' | 'serverName' | 'certificate'> {
  /** The namespace of requests that name none; undefined for `default`. */
  readonly namespace: string | undefined;
  /** The user as whom requests are made; without a name if that is the one who logs in. */
  readonly impersonated: ImpersonatedUser;
  /**
   * Reads the user's token file or runs the credential plugin, if there is one. A certificate is sent beside
   * what it returns, as by kubectl.
   *
   * @throws Error with a sentence for the user
   */
  credential(): Promise<HeaderCredential>;
}

type HeaderCredential = Pick<StonegateAddress, 'authorization' | 'tokenExpiresAt'>;

/** A value of another type counts as absent. */
const text = z.string().min(1).optional().catch(undefined);
const list = z.array(z.unknown()).catch([]);
const texts = list.transform((values) => values.filter((value) => typeof value === 'string'));

const contextSchema = z.object({ cluster: text, user: text, namespace: text });
const clusterSchema = z.object({
  server: text,
  'insecure-skip-tls-verify': z.unknown().optional(),
  'proxy-url': text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'tls-server-name': text,
});
const userSchema = z.object({
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  as: text,
  'as-uid': text,
  'as-groups': texts,
  'as-user-extra': z.record(z.string(), texts).catch({}),
  exec: z
    .object({
      apiVersion: text,
      command: text,
      args: texts,
      env: list,
      interactiveMode: text,
      installHint: text,
    })
    .optional()
    .catch(undefined),
  'auth-provider': z
    .object({ name: text, config: z.object({ 'id-token': text }).catch({}) })
    .optional()
    .catch(undefined),
});
const variableSchema = z.object({ name: z.string(), value: z.string() });

type UserFields = z.infer<typeof userSchema>;

interface Document {
  readonly fields: JSONObject;
  readonly folder: string;
}

/**
 * @param wanted the context; default: the current one
 * @throws Error with a sentence for the user
 */
export async function readContext(files: readonly string[], wanted?: string): Promise<KubeContext> {
  const documents = (await Promise.all(files.map(readDocument))).filter((document) => document !== undefined);
  if (documents.length === 0)
    throw new Error(`there is no kubeconfig ${files.join(', ')}: set KUBECONFIG or use --server`);
  const name = wanted ?? documents.map(({ fields }) => text.parse(fields['current-context'])).find(Boolean);
  if (name === undefined)
    throw new Error(`no current context in ${files.join(', ')}: name one with --context`);
  const context = contextSchema.parse(entryOf(documents, 'context', name).fields);
  const cluster = entryOf(documents, 'cluster', context.cluster ?? '');
  const user = entryOf(documents, 'user', context.user ?? '');
  return {
    namespace: context.namespace,
    ...(await serverOf(clusterSchema.parse(cluster.fields), cluster.folder)),
    ...(await userOf(userSchema.parse(user.fields), user.folder)),
  };
}

async function readDocument(file: string): Promise<Document | undefined> {
  const content = await readKubeconfigFile(file);
  if (content === undefined) return undefined;
  const { data } = readYAML(content, file);
  if (data === null) return undefined;
  if (!isJSONObject(data)) throw new Error(`${file} is no kubeconfig`);
  return { fields: data, folder: dirname(file) };
}

function entryOf(
  documents: readonly Document[],
  kind: 'context' | 'cluster' | 'user',
  name: string,
): Document {
  for (const { fields, folder } of documents) {
    const entry = list.parse(fields[`${kind}s`]).find((each) => isJSONObject(each) && each.name === name);
    const content = isJSONObject(entry) ? entry[kind] : undefined;
    if (entry !== undefined) return { fields: isJSONObject(content) ? content : {}, folder };
  }
  throw new Error(`the kubeconfig has no ${kind} ${JSON.stringify(name)}`);
}

async function serverOf(fields: z.infer<typeof clusterSchema>, folder: string) {
  if (fields.server === undefined) throw new Error('the cluster of the context has no server');
  if (fields['insecure-skip-tls-verify'] === true)
    throw new Error(
      'the cluster says insecure-skip-tls-verify: anyone on the network could read the token. Set certificate-authority instead',
    );
  if (fields['proxy-url'] !== undefined)
    throw new Error('the cluster says proxy-url, which is not supported here: use kubectl get --raw');
  const ca = await contentOf(fields, 'certificate-authority', folder);
  return { url: fields.server, ca, serverName: fields['tls-server-name'] };
}

async function userOf(fields: UserFields, folder: string) {
  const [cert, key] = await Promise.all([
    contentOf(fields, 'client-certificate', folder),
    contentOf(fields, 'client-key', folder),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw new Error('client-certificate and client-key go together, and the user has one of them');
  const { tokenFile, token, username, exec, 'auth-provider': provider } = fields;
  if (cert === undefined && (tokenFile ?? token ?? username ?? exec ?? provider) === undefined)
    throw new Error(
      'the user of the context has no token, tokenFile, exec, auth-provider, client-certificate or username',
    );
  return {
    certificate: cert === undefined || key === undefined ? undefined : { cert, key },
    impersonated: {
      username: fields.as ?? '',
      uid: fields['as-uid'] ?? '',
      groups: fields['as-groups'],
      extra: fields['as-user-extra'],
    },
    credential: () => credentialOf(fields, folder),
  };
}

async function credentialOf(fields: UserFields, folder: string): Promise<HeaderCredential> {
  const { tokenFile, token, username, password = '', exec } = fields;
  if (tokenFile !== undefined) return { authorization: `Bearer ${await readToken(tokenFile, folder)}` };
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username !== undefined)
    return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  if (exec === undefined) return { authorization: tokenOfProvider(fields['auth-provider']) };
  const { token: obtained, expiresAt } = await runPlugin(exec, folder);
  return { authorization: `Bearer ${obtained}`, tokenExpiresAt: expiresAt };
}

/**
 * kubectl's provider `oidc` renews its ID token and writes it into the kubeconfig; here it is only read.
 *
 * @returns undefined without a provider
 */
function tokenOfProvider(provider: UserFields['auth-provider']): string | undefined {
  if (provider === undefined) return undefined;
  const { name, config } = provider;
  const { 'id-token': token } = config;
  if (name === 'oidc' && token !== undefined) return `Bearer ${token}`;
  throw new Error(
    name === 'oidc'
      ? 'the auth-provider of the user has no id-token yet: run a kubectl command first, which writes it'
      : `the auth-provider ${JSON.stringify(name)} of the user is not read here, only oidc: use --token-file`,
  );
}

/** @param folder of the kubeconfig, the base of a command with a slash */
function runPlugin(exec: NonNullable<UserFields['exec']>, folder: string): Promise<ExecToken> {
  const { apiVersion = 'client.authentication.k8s.io/v1', command, args, installHint } = exec;
  if (command === undefined) throw new Error('the exec of the user names no command');
  const variables = exec.env.flatMap((each) => variableSchema.safeParse(each).data ?? []);
  return runExecPlugin({
    apiVersion,
    command: command.includes('/') ? resolve(folder, command) : command,
    args,
    env: Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    mayAsk: exec.interactiveMode !== 'Never' && process.stdin.isTTY === true,
    installHint,
  });
}

async function readToken(file: string, folder: string): Promise<string> {
  const token = (await readGiven('tokenFile', file, folder)).trim();
  if (token === '') throw new Error(`tokenFile: ${displayedFileName(file)} is empty`);
  return token;
}

/** Inline data has precedence over a file. */
async function contentOf<Name extends string>(
  fields: { readonly [Member in Name | `${Name}-data`]?: string | undefined },
  name: Name,
  folder: string,
): Promise<string | undefined> {
  const data = fields[`${name}-data`];
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8') || undefined;
  const file = fields[name];
  return file === undefined ? undefined : (await readGiven(name, file, folder)) || undefined;
}
