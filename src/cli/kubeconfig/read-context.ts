/**
 * A context of the user's kubeconfig: where its server is and how its user proves who they are. Of several files the
 * first to name a thing counts, and relative names are relative to the file they stand in.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { type ExecPlugin, readExecPlugin } from './exec-plugin.ts';
import { type Fields, fieldsOf, isFields, listOf, optionalText } from './fields.ts';
import { readIfThere } from './files.ts';

/** What is wrong with a kubeconfig, or why nobody can be logged in by it; a sentence for the person. */
export class KubeconfigError extends Error {}

export interface Server {
  readonly url: string;
  /** PEM; undefined where the system's authorities are enough. */
  readonly ca: string | undefined;
  /** In the certificate, where it is not the address. */
  readonly serverName: string | undefined;
}

export type UserProof =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

export interface KubeContext {
  readonly name: string;
  readonly server: Server;
  readonly user: UserProof;
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
  return { name, server: await serverOf(cluster), user: await proofOf(user) };
}

async function readDocument(file: string): Promise<Entry | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw new KubeconfigError(`${file} is no YAML: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
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
  const data = optionalText(fields, 'certificate-authority-data');
  const file = optionalText(fields, 'certificate-authority');
  const ca =
    data === undefined
      ? file && (await readFile(resolve(folder, file), 'utf8'))
      : Buffer.from(data, 'base64').toString('utf8');
  return { url, ca: ca || undefined, serverName: optionalText(fields, 'tls-server-name') };
}

async function proofOf({ fields, folder }: Entry): Promise<UserProof> {
  const file = optionalText(fields, 'tokenFile');
  if (file !== undefined) return { kind: 'token', token: await readToken(resolve(folder, file)) };
  const token = optionalText(fields, 'token');
  if (token !== undefined) return { kind: 'token', token };
  if (isFields(fields.exec)) return { kind: 'exec', plugin: readExecPlugin(fields.exec, folder) };
  throw new KubeconfigError(
    'the user of the context has no token, tokenFile or exec, and Stonegate takes no other credential',
  );
}

/** @throws Error where it cannot be read */
export async function readToken(file: string): Promise<string> {
  const token = (await readFile(file, 'utf8')).trim();
  if (token === '') throw new KubeconfigError(`${file} is empty`);
  return token;
}
