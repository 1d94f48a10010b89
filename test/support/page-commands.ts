/**
 * The commands on a page in docs/, as readers type them, and the output that the page shows. A comment before
 * a block says how it is run; a YAML block with the comment `file: NAME` is that file.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

export interface Block {
  /** The comment before the block; empty if there is none. */
  readonly mark: string;
  readonly commands: string;
  /** The lines of the output; `…` matches any text. */
  readonly promised: readonly string[];
}

/** The blocks of shell commands, each with the output after it. */
export function readBlocks(page: string): Block[] {
  const fences = /(?:<!-- ([^\n]*) -->\n)?```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs;
  return [...readFileSync(page, 'utf8').matchAll(fences)].map(
    ([, mark = '', commands = '', promised = '']) => ({
      mark,
      commands,
      promised: promised.split('\n').filter((line) => line.trim() !== ''),
    }),
  );
}

/** The files that the page shows: name → content. */
export function readFiles(page: string): Map<string, string> {
  const fences = /<!-- file: (\S+) -->\n```yaml\n(.*?)```/gs;
  return new Map(
    [...readFileSync(page, 'utf8').matchAll(fences)].map(([, name = '', content = '']) => [name, content]),
  );
}

/**
 * The lines must occur in this order, but other lines may be between them. Several spaces count as one.
 *
 * @returns the first line that is missing in the output
 */
export function missingLine(output: string, promised: readonly string[]): string | undefined {
  const lines = output.split('\n');
  let at = 0;
  return promised.find((line) => {
    const pattern = new RegExp(`^${line.trim().split('…').map(literally).join('.*')}$`);
    const found = lines.findIndex((each, index) => index >= at && pattern.test(each.trim()));
    at = found + 1;
    return found === -1;
  });
}

function literally(part: string) {
  return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+');
}

/** Creates a command on the reader's PATH. */
export function makeCommand(file: string, script: string) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o700);
}

/** A folder whose commands can call `stonegate`, and the environment of the commands. */
export function readersShell(folder: string): { folder: string; env: Record<string, string> } {
  const bin = join(folder, 'bin');
  makeCommand(join(bin, 'stonegate'), `exec '${process.execPath}' '${resolve('src/main.ts')}' "$@"`);
  return {
    folder,
    env: {
      PATH: [bin, process.env.PATH ?? ''].join(':'),
      HOME: join(folder, 'home'),
      NODE_NO_WARNINGS: '1',
    },
  };
}

/** Runs the script with bash, which ends at the first command that fails. The output has both streams. */
export async function runShell(
  { folder, env }: ReturnType<typeof readersShell>,
  script: string,
): Promise<{ output: string; code: number | null }> {
  const child = spawn('bash', ['-euc', `exec 2>&1\n${script}`], { cwd: folder, env });
  const code = new Promise<number | null>((done) => child.once('close', done));
  const output = await text(child.stdout);
  return { output, code: await code };
}

/**
 * The commands of each block of the page with the comment `run by TEST`. In a block that also shows output,
 * commands are the lines after `$ `.
 */
export function commandsRunBy(test: string, page: string) {
  const fences = /^( *)<!-- run by (\S+) -->\n\1```(sh|console)\n(.*?)^\1```/gms;
  return [...readFileSync(page, 'utf8').matchAll(fences)]
    .filter(([, , by]) => by === test)
    .map(([, indent = '', , language, block = '']) => {
      const lines = block.split('\n').map((line) => line.slice(indent.length));
      if (language === 'sh') return lines.join('\n');
      const typed = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
      return `${typed.join('\n')}\n`;
    });
}
