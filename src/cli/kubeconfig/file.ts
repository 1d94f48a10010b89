/**
 * Reads and writes kubeconfig files as kubectl does: the same search order and lock, and replacement by
 * rename. A kubeconfig may contain tokens, so errors never quote its text.
 * https://pkg.go.dev/k8s.io/client-go/tools/clientcmd#ModifyConfig
 */
import { mkdir, open, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { type Document, parseDocument } from 'yaml';
import { hasCode } from '../../lib/error-code.ts';
import { readIfThere, reasonOf } from '../../lib/file-errors.ts';
import type { Random } from '../../lib/random.ts';
import { noYAML, UNUSABLE_ALIASES } from '../../lib/yaml-mistake.ts';
import { replaceFile } from '../replace-file.ts';

/** Why a kubeconfig cannot be used, in a sentence for the user. */
export class KubeconfigError extends Error {}

export interface KubeconfigDocument {
  readonly document: Document;
  /** The document as plain values. */
  readonly data: unknown;
}

/**
 * @param file named in errors
 * @throws KubeconfigError that quotes nothing of the text
 */
export function readKubeconfig(text: string, file: string): KubeconfigDocument {
  const document = parseDocument(text);
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new KubeconfigError(`${file} is ${noYAML(mistake)}`);
  try {
    return { document, data: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    throw new KubeconfigError(`${file} is no usable YAML: ${UNUSABLE_ALIASES}`);
  }
}

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * The kubeconfig files as kubectl finds them, in order of precedence: `--kubeconfig`, else those of
 * `KUBECONFIG`, else `~/.kube/config`. They need not exist.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
export function kubeconfigFiles(
  explicit: string | undefined,
  env: ProcessEnvironment,
): [string, ...string[]] {
  if (explicit !== undefined) return [resolve(explicit)];
  const [first, ...more] = (env.KUBECONFIG ?? '').split(delimiter).filter((name) => name !== '');
  if (first !== undefined) return [resolve(first), ...more.map((name) => resolve(name))];
  return [join(env.HOME ?? homedir(), '.kube', 'config')];
}

/**
 * @returns undefined if there is no such file
 * @throws Error if the file cannot be read
 */
export async function readKubeconfigFile(file: string): Promise<string | undefined> {
  try {
    return await readIfThere(file);
  } catch (error) {
    throw new Error(`the kubeconfig ${file}: ${reasonOf(error)}`);
  }
}

/** The file that gets new entries: the first existing one, else the last. */
export async function fileToChange(files: readonly [string, ...string[]]): Promise<string> {
  for (const file of files) if ((await readKubeconfigFile(file)) !== undefined) return file;
  return files.at(-1) ?? files[0];
}

/**
 * @param change receives the text; undefined if there is no file
 * @throws KubeconfigError if another process is changing it
 */
export async function changeFile(
  file: string,
  change: (text: string | undefined) => string,
  random: Random,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const target = await followLink(file);
  // kubectl locks the name that it is given, which may be the link or its target.
  await withLocks([...new Set([file, target])], async () => {
    await replaceFile(target, change(await readKubeconfigFile(target)), random);
  });
}

async function withLocks([file, ...more]: readonly string[], work: () => Promise<void>): Promise<void> {
  if (file === undefined) return work();
  const lock = `${file}.lock`;
  await takeLock(lock);
  try {
    await withLocks(more, work);
  } finally {
    await rm(lock, { force: true });
  }
}

async function followLink(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return file;
    throw error;
  }
}

async function takeLock(lock: string): Promise<void> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    throw new KubeconfigError(
      `${lock} exists: another process is changing the kubeconfig. If none is, remove it`,
    );
  }
}
