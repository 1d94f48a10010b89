/**
 * What the options of `stonegate kubeconfig` may be. kubectl takes nearly anything and fails at the first request, so that
 * each is refused here with a sentence.
 */
import { labelProblem } from '../../api/reserved-names.ts';
import { UsageError } from '../usage.ts';
import { nameOf } from './entries.ts';

/**
 * Stonegate serves at the root alone: whole paths are what it rewrites.
 *
 * @throws UsageError that does not show the text, in which a password may stand
 */
export function readServer(text: string | undefined): URL {
  if (text === undefined) throw new UsageError('--server URL is required');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:')
    throw new UsageError('--server wants an https address: kubectl sends no token to another');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--server wants an https address without a user: who one is the login says');
  if (url.pathname !== '/' || /[?#]/.test(text))
    throw new UsageError(
      '--server wants an address without a path, query and fragment: Stonegate serves at its root',
    );
  return url;
}

/** @throws UsageError where it can be no namespace's name */
export function readNamespace(name: string | undefined): string | undefined {
  const problem = name === undefined ? undefined : labelProblem(name);
  if (problem !== undefined) throw new UsageError(`--namespace: ${JSON.stringify(name)} ${problem}`);
  return name;
}

/**
 * @param name as it is given
 * @param server whose host's name is taken without one
 * @throws UsageError for a name that is not of letters, digits and dashes
 */
export function readName(name: string | undefined, server: URL): string {
  if (name !== undefined && /^[a-z0-9-]*$/i.test(name) && /[a-z0-9]/i.test(name)) return name;
  const plain = nameOf(name ?? server.hostname);
  if (name === undefined && plain !== '') return plain;
  const instead = plain === '' ? '' : `, such as ${plain}`;
  throw new UsageError(
    `--name wants letters, digits and dashes${instead}: kubectl config takes a dot for its end`,
  );
}

/**
 * @returns the names and ids between the commas
 * @throws UsageError where there is none
 */
export function readProjects(list: string): readonly string[] {
  const words = list.split(',').filter((word) => word !== '');
  if (words.length === 0) throw new UsageError('--projects wants "all", or names or ids with commas between');
  return words;
}
