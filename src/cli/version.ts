/**
 * Which Stonegate this is, and whether this Node can run it: an older one would end in the middle of some package with a
 * stack trace that says nothing to whoever typed the command.
 */
import { readFile } from 'node:fs/promises';

/** Of `package.json`, beside the folder of the program. */
export async function version(): Promise<string> {
  const manifest: { version: string } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}

/** As `engines` in `package.json` has it. */
const NEEDED = [22, 19] as const;

/**
 * @param node such as `24.1.0`
 * @returns one line for the person, undefined where all is well
 */
export function nodeProblem(node: string): string | undefined {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return `stonegate needs Node ${NEEDED.join('.')} or newer, this is ${node}`;
}
