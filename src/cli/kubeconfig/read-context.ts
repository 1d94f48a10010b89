/**
 * A context of the user's kubeconfig: where its server is and how its user proves who they are. Of several files the
 * first to name a thing counts, and relative names are relative to the file they stand in.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { reasonOf, tellable } from '../../lib/unreadable.ts';
import {
  type Fields,
  fieldsOf,
  isFields,
  KubeconfigError,
  listOf,
  optionalText,
  readIfThere,
  readKubeconfig,
} from './file.ts';

export interface Server {
  readonly url: string;
  /** PEM; undefined where the system's authorities are enough. */
  readonly ca: string | undefined;
  /** In the certificate, where it is not the address. */
  readonly serverName: string | undefined;
}

/** Of the TLS connection; PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export type UserProof =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'password'; readonly userName: string; readonly password: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

export interface KubeUser {
  readonly certificate: ClientCertificate | undefined;
  /** Undefined where the certificate is all there is. Both at once go to the server as kubectl would send them. */
  readonly proof: UserProof | undefined;
}

export interface KubeContext {
  readonly name: string;
  readonly server: Server;
  readonly user: KubeUser;
}

interface Entry {
  readonly fields: Fields;
  readonly folder: string;
}

/**
 * @param wanted the context; without it the current one
 * @throws KubeconfigError
 */
export async function readContext(files: readonly string[], wanted?: string): Promise<KubeContext> {
  const documents = (await Promise.all(files.map(readDocument))).filter((document) => document !== undefined);
  const name = wanted ?? documents.map(({ fields }) => optionalText(fields, 'current-context')).find(Boolean);
  if (name === undefined)
    throw new KubeconfigError(`no current context in ${files.join(', ')}: name one with --context`);
  const context = entryOf(documents, 'contexts', 'context', name);
  const cluster = entryOf(documents, 'clusters', 'cluster', optionalText(context.fields, 'cluster') ?? '');
  const user = entryOf(documents, 'users', 'user', optionalText(context.fields, 'user') ?? '');
  return { name, server: await serverOf(cluster), user: await userOf(user) };
}

async function readDocument(file: string): Promise<Entry | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const { data: document } = readKubeconfig(text, file);
  if (document === null) return undefined;
  if (!isFields(document)) throw new KubeconfigError(`${file} is no kubeconfig`);
  return { fields: document, folder: dirname(file) };
}

function entryOf(documents: readonly Entry[], list: string, member: string, name: string): Entry {
  for (const { fields, folder } of documents) {
    const entry = listOf(fields, list).find((each) => isFields(each) && each.name === name);
    if (isFields(entry)) return { fields: fieldsOf(entry, member), folder };
  }
  throw new KubeconfigError(`the kubeconfig has no ${member} ${JSON.stringify(name)}`);
}

async function serverOf({ fields, folder }: Entry): Promise<Server> {
  const url = optionalText(fields, 'server');
  if (url === undefined) throw new KubeconfigError('the cluster of the context has no server');
  if (fields['insecure-skip-tls-verify'] === true)
    throw new KubeconfigError(
      'the cluster says insecure-skip-tls-verify: anybody could read the token then. Give its certificate-authority',
    );
  if (optionalText(fields, 'proxy-url') !== undefined)
    throw new KubeconfigError(
      'the cluster says proxy-url, which is not supported here: use kubectl get --raw',
    );
  const ca = await contentOf('certificate-authority', { fields, folder });
  return { url, ca, serverName: optionalText(fields, 'tls-server-name') };
}

/** What stands in the kubeconfig itself goes before the file that it names. */
async function contentOf(member: string, { fields, folder }: Entry): Promise<string | undefined> {
  const data = optionalText(fields, `${member}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8') || undefined;
  const file = optionalText(fields, member);
  return file === undefined ? undefined : (await readNamed(member, file, folder)) || undefined;
}

async function userOf(entry: Entry): Promise<KubeUser> {
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
  return { certificate, proof };
}

async function proofOf({ fields, folder }: Entry): Promise<UserProof | undefined> {
  const file = optionalText(fields, 'tokenFile');
  if (file !== undefined) return { kind: 'token', token: await readToken(file, folder) };
  const token = optionalText(fields, 'token');
  if (token !== undefined) return { kind: 'token', token };
  const userName = optionalText(fields, 'username');
  if (userName !== undefined)
    return { kind: 'password', userName, password: optionalText(fields, 'password') ?? '' };
  if (isFields(fields.exec)) return { kind: 'exec', plugin: readExecPlugin(fields.exec, folder) };
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

// FROM src/cli/kubeconfig/exec-plugin.ts
/*!
 * Runs a user's credential plugin as kubectl does: no shell, its words on standard error, one ExecCredential on
 * standard output. Nothing is kept: the plugin has a cache of its own.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it may ask the person something. */
  readonly mayAsk: boolean;
  readonly installHint: string | undefined;
}

/** What is wrong with the plugin, in a sentence for the person; never what it printed. */
export class ExecPluginError extends Error {}

/** @param folder of the kubeconfig, from which a command with a slash is named */
function readExecPlugin(exec: Fields, folder: string): ExecPlugin {
  const command = optionalText(exec, 'command');
  if (command === undefined) throw new ExecPluginError('the exec of the user names no command');
  const env = listOf(exec, 'env').flatMap((each) => {
    const { name, value } = isFields(each) ? each : {};
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
  if (!isFields(answer) || answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion)
    throw new ExecPluginError(`${command} printed no ExecCredential of ${apiVersion}`);
  const token = optionalText(fieldsOf(answer, 'status'), 'token');
  if (token === undefined) throw new ExecPluginError(`${command} gave no token`);
  return token;
}
