/**
 * The text of a kubeconfig as a document. It may hold tokens and passwords, and the parser's own words would quote them.
 */

import { mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { type Document, parseDocument } from 'yaml';
import type { Random } from '../../lib/random.ts';
import { reasonOf } from '../../lib/unreadable.ts';
import { noYAML, UNUSABLE_ALIASES } from '../../lib/yaml-mistake.ts';

/** What is wrong with a kubeconfig, or why nobody can be logged in by it; a sentence for the person. */
export class KubeconfigError extends Error {}

export interface KubeconfigDocument {
  readonly document: Document;
  /** The same as plain values. */
  readonly data: unknown;
}

/**
 * @param file named in what is thrown
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

// FROM src/cli/kubeconfig/files.ts
/*!
 * Which kubeconfig files count, as kubectl sees it: the one of `--kubeconfig` alone, else those of `KUBECONFIG`, else
 * `~/.kube/config`.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** In the order of their weight; they need not exist. */
export function kubeconfigFiles(explicit: string | undefined, env: Environment): [string, ...string[]] {
  if (explicit !== undefined) return [resolve(explicit)];
  const [first, ...more] = (env.KUBECONFIG ?? '').split(delimiter).filter((name) => name !== '');
  if (first !== undefined) return [resolve(first), ...more.map((name) => resolve(name))];
  return [join(env.HOME ?? homedir(), '.kube', 'config')];
}

/**
 * @returns undefined where there is no such file
 * @throws Error for one that cannot be read
 */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`the kubeconfig ${file}: ${reasonOf(error)}`);
  }
}

/** The one that gets what is new: the first that is there, or the last of those that are not. */
export async function fileToChange(files: readonly [string, ...string[]]): Promise<string> {
  for (const file of files) if ((await readIfThere(file)) !== undefined) return file;
  return files.at(-1) ?? files[0];
}

// FROM src/cli/kubeconfig/write.ts
/*!
 * Changes a kubeconfig as kubectl does: under the lock that kubectl itself takes, then written beside and renamed
 * over, so that nobody reads half of it and nothing is lost where the disk is full. A link stays a link.
 * https://pkg.go.dev/k8s.io/client-go/tools/clientcmd#ModifyConfig
 */

/**
 * @param change of the file's text; undefined where there is none
 * @throws KubeconfigError where somebody else is changing it
 */
export async function changeFile(
  file: string,
  change: (text: string | undefined) => string,
  random: Random,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const target = await followLink(file);
  // kubectl locks the link, and who names the file itself locks that.
  await locked([...new Set([file, target])], async () => {
    await replace(target, change(await readIfThere(target)), random);
  });
}

async function locked([file, ...more]: readonly string[], work: () => Promise<void>): Promise<void> {
  if (file === undefined) return work();
  const lock = `${file}.lock`;
  await takeLock(lock);
  try {
    await locked(more, work);
  } finally {
    await rm(lock, { force: true });
  }
}

async function followLink(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return file;
    throw error;
  }
}

async function takeLock(lock: string): Promise<void> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new KubeconfigError(
      `${lock} exists: somebody else is changing the kubeconfig. If nobody is, remove it`,
    );
  }
}

async function replace(target: string, text: string, random: Random): Promise<void> {
  const next = join(dirname(target), `.${basename(target)}.${random.bytes(6).toString('hex')}`);
  try {
    const handle = await open(next, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, target);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

// FROM src/cli/kubeconfig/fields.ts
/*!
 * Looks into documents that somebody else wrote: what is not of the expected kind counts as absent.
 */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns undefined where it is absent, empty or no text */
export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function fieldsOf(fields: Fields, name: string): Fields {
  const value = fields[name];
  return isFields(value) ? value : {};
}

export function listOf(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
}
