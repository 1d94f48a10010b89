/**
 * Reads a context of the user's kubeconfig: its server, and the user's credential, which may come from a
 * credential plugin. In several files the first definition of a name counts, and relative paths refer to the
 * file that contains them.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { reasonOf, tellable } from '../../lib/file-errors.ts';
import type { ImpersonatedUser } from '../../lib/impersonation-headers.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { fieldsOf, KubeconfigError, listOf, optionalText, readIfThere, readKubeconfig } from './file.ts';

export interface ClusterServer {
  readonly url: string;
  /** PEM; undefined: the system's CAs. */
  readonly ca: string | undefined;
  /** The name in the certificate, if it differs from the host. */
  readonly serverName: string | undefined;
}

/** Client certificate and key of the TLS connection; PEM. */
export interface ClientKeyPair {
  readonly cert: string;
  readonly key: string;
}

export type UserProof =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'password'; readonly userName: string; readonly password: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

export interface KubeUser {
  readonly certificate: ClientKeyPair | undefined;
  /** The user as whom requests are made; without a name if that is the one who logs in. */
  readonly impersonated: ImpersonatedUser;
  /** Undefined if the user has only a certificate. Both are sent if both are present, as by kubectl. */
  readonly proof: UserProof | undefined;
}

export interface KubeContext {
  readonly name: string;
  /** Of requests that name none; undefined for `default`. */
  readonly namespace: string | undefined;
  readonly server: ClusterServer;
  readonly user: KubeUser;
}

interface FoundEntry {
  readonly fields: JSONObject;
  readonly folder: string;
}

/**
 * @param wanted the context; default: the current one
 * @throws KubeconfigError
 */
export async function readContext(files: readonly string[], wanted?: string): Promise<KubeContext> {
  const documents = (await Promise.all(files.map(readDocument))).filter((document) => document !== undefined);
  if (documents.length === 0)
    throw new KubeconfigError(`there is no kubeconfig ${files.join(', ')}: set KUBECONFIG or give --server`);
  const name = wanted ?? documents.map(({ fields }) => optionalText(fields, 'current-context')).find(Boolean);
  if (name === undefined)
    throw new KubeconfigError(`no current context in ${files.join(', ')}: name one with --context`);
  const context = entryOf(documents, 'contexts', 'context', name);
  const cluster = entryOf(documents, 'clusters', 'cluster', optionalText(context.fields, 'cluster') ?? '');
  const user = entryOf(documents, 'users', 'user', optionalText(context.fields, 'user') ?? '');
  return {
    name,
    namespace: optionalText(context.fields, 'namespace'),
    server: await serverOf(cluster),
    user: await userOf(user),
  };
}

async function readDocument(file: string): Promise<FoundEntry | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const { data: document } = readKubeconfig(text, file);
  if (document === null) return undefined;
  if (!isJSONObject(document)) throw new KubeconfigError(`${file} is no kubeconfig`);
  return { fields: document, folder: dirname(file) };
}

function entryOf(documents: readonly FoundEntry[], list: string, member: string, name: string): FoundEntry {
  for (const { fields, folder } of documents) {
    const entry = listOf(fields, list).find((each) => isJSONObject(each) && each.name === name);
    if (isJSONObject(entry)) return { fields: fieldsOf(entry, member), folder };
  }
  throw new KubeconfigError(`the kubeconfig has no ${member} ${JSON.stringify(name)}`);
}

async function serverOf({ fields, folder }: FoundEntry): Promise<ClusterServer> {
  const url = optionalText(fields, 'server');
  if (url === undefined) throw new KubeconfigError('the cluster of the context has no server');
  if (fields['insecure-skip-tls-verify'] === true)
    throw new KubeconfigError(
      'the cluster says insecure-skip-tls-verify: anyone on the network could read the token. Set certificate-authority instead',
    );
  if (optionalText(fields, 'proxy-url') !== undefined)
    throw new KubeconfigError(
      'the cluster says proxy-url, which is not supported here: use kubectl get --raw',
    );
  const ca = await contentOf('certificate-authority', { fields, folder });
  return { url, ca, serverName: optionalText(fields, 'tls-server-name') };
}

/** Inline data has precedence over a file. */
async function contentOf(member: string, { fields, folder }: FoundEntry): Promise<string | undefined> {
  const data = optionalText(fields, `${member}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8') || undefined;
  const file = optionalText(fields, member);
  return file === undefined ? undefined : (await readNamed(member, file, folder)) || undefined;
}

async function userOf(entry: FoundEntry): Promise<KubeUser> {
  const [cert, key, proof] = await Promise.all([
    contentOf('client-certificate', entry),
    contentOf('client-key', entry),
    proofOf(entry),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw new KubeconfigError('client-certificate and client-key go together, and the user has one of them');
  const certificate = cert === undefined || key === undefined ? undefined : { cert, key };
  if (certificate === undefined && proof === undefined)
    throw new KubeconfigError(
      'the user of the context has no token, tokenFile, exec, client-certificate or username',
    );
  return { certificate, impersonated: impersonatedOf(entry.fields), proof };
}

function impersonatedOf(fields: JSONObject): ImpersonatedUser {
  const extra = Object.entries(fieldsOf(fields, 'as-user-extra')).map(
    ([key, values]) => [key, textsOf(values)] as const,
  );
  return {
    username: optionalText(fields, 'as') ?? '',
    uid: optionalText(fields, 'as-uid') ?? '',
    groups: textsOf(fields['as-groups']),
    extra: Object.fromEntries(extra),
  };
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}

async function proofOf({ fields, folder }: FoundEntry): Promise<UserProof | undefined> {
  const file = optionalText(fields, 'tokenFile');
  if (file !== undefined) return { kind: 'token', token: await readToken(file, folder) };
  const token = optionalText(fields, 'token');
  if (token !== undefined) return { kind: 'token', token };
  const userName = optionalText(fields, 'username');
  if (userName !== undefined)
    return { kind: 'password', userName, password: optionalText(fields, 'password') ?? '' };
  if (isJSONObject(fields.exec)) return { kind: 'exec', plugin: readExecPlugin(fields.exec, folder) };
  return undefined;
}

async function readToken(file: string, folder: string): Promise<string> {
  const token = (await readNamed('tokenFile', file, folder)).trim();
  if (token === '') throw new KubeconfigError(`tokenFile: ${tellable(file)} is empty`);
  return token;
}

async function readNamed(member: string, file: string, folder: string): Promise<string> {
  try {
    return await readFile(resolve(folder, file), 'utf8');
  } catch (error) {
    throw new KubeconfigError(`${member}: ${reasonOf(error)}: ${tellable(file)}`);
  }
}

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether the plugin may ask the user. */
  readonly mayAsk: boolean;
  readonly installHint: string | undefined;
}

/** Why the plugin failed, in a sentence for the user; never contains its output. */
export class ExecPluginError extends Error {}

/** @param folder of the kubeconfig, the base of a command with a slash */
function readExecPlugin(exec: JSONObject, folder: string): ExecPlugin {
  const command = optionalText(exec, 'command');
  if (command === undefined) throw new ExecPluginError('the exec of the user names no command');
  const env = listOf(exec, 'env').flatMap((each) => {
    const { name, value } = isJSONObject(each) ? each : {};
    return typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [];
  });
  return {
    apiVersion: optionalText(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command: command.includes('/') ? resolve(folder, command) : command,
    args: listOf(exec, 'args').filter((arg) => typeof arg === 'string'),
    env: Object.fromEntries(env),
    mayAsk: optionalText(exec, 'interactiveMode') !== 'Never' && process.stdin.isTTY === true,
    installHint: optionalText(exec, 'installHint'),
  };
}

/**
 * @returns the token
 * @throws ExecPluginError
 */
export async function runExecPlugin(plugin: ExecPlugin): Promise<string> {
  const { apiVersion, command, args, mayAsk } = plugin;
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: mayAsk } };
  const child = spawn(command, [...args], {
    stdio: [mayAsk ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const [code, stdout] = await Promise.all([exitOf(child, plugin), text(child.stdout)]);
  if (code !== 0) throw new ExecPluginError(`${command} ended with ${code ?? 'a signal'}`);
  return tokenOf(stdout, plugin);
}

function exitOf(
  child: ReturnType<typeof spawn>,
  { command, installHint }: ExecPlugin,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      const hint = installHint === undefined ? '' : `\n${installHint}`;
      reject(new ExecPluginError(`${command} cannot be run: ${error.message}${hint}`));
    });
    child.once('close', resolve);
  });
}

function tokenOf(stdout: string, { command, apiVersion }: ExecPlugin): string {
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    // The parser's own message quotes what it read, which may be the token.
    throw new ExecPluginError(`${command} printed no JSON`);
  }
  if (!isJSONObject(answer) || answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion)
    throw new ExecPluginError(`${command} printed no ExecCredential of ${apiVersion}`);
  const token = optionalText(fieldsOf(answer, 'status'), 'token');
  if (token === undefined) throw new ExecPluginError(`${command} gave no token`);
  return token;
}
