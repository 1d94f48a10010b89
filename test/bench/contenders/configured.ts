/** How a program is started that wants a file with its port in it. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { CONTENDER_CORE, type Serving, start } from '../processes.ts';
import type { Site } from '../site.ts';
import { untilListening } from '../waiting.ts';

export async function startConfigured(
  name: string,
  configuration: (port: number) => string,
  words: (file: string) => readonly string[],
  site: Site,
  environment: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const port = await freePort();
  const file = join(site.folder, name);
  writeFileSync(file, configuration(port));
  const running = start(CONTENDER_CORE, words(file), environment);
  await untilListening(running, port);
  return { ...running, port };
}

/** What a contender says of itself where its command cannot be run. */
export function missing(command: string, ...words: string[]): { missing?: string } {
  try {
    execFileSync(command, words, { stdio: 'ignore' });
    return {};
  } catch {
    return { missing: `${command} is not installed: apt-get install ${command}` };
  }
}
