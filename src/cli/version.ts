/**
 * The version of Stonegate, and whether this Node can run it. An older Node would fail inside some package
 * with a stack trace that does not name the reason.
 */
import { readFile } from 'node:fs/promises';

/** The version in `package.json`, which is in the parent folder of the program. */
export async function version(): Promise<string> {
  const manifest: { version: string } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}

/** The oldest Node that `engines` of `package.json` allows. */
const NEEDED = [22, 19] as const;

/**
 * @param node for example `24.1.0`
 * @returns one line for the user; undefined if this Node suffices
 */
export function nodeProblem(node: string): string | undefined {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return `stonegate needs Node ${NEEDED.join('.')} or newer, this is ${node}`;
}
