/**
 * What the options of `stonegate kubeconfig` may be. kubectl takes nearly anything and fails at the first request, so that
 * each is refused here with a sentence.
 */
import { labelProblem } from '../../api/namespace-label.ts';
import { UsageError } from '../usage.ts';

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
