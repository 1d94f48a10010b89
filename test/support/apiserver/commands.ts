/**
 * The few commands that run in the stand-in’s pods. They are built in, so that no client can run programs of
 * this machine. Only `tar` is the system’s own, confined to the folder of the pod, so that `kubectl cp` works
 * in both directions.
 */
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, mkdirSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Pod } from './pods.ts';

export interface CommandIO {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
}

type Command = (words: readonly string[], io: CommandIO, pod: Pod) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = {
  async echo(words, { stdout }) {
    stdout.write(`${words.join(' ')}\n`);
    return 0;
  },
  async env(_words, { stdout }, pod) {
    stdout.write(`PATH=/usr/bin:/bin\nHOSTNAME=${pod.name}\nHOME=/root\n`);
    return 0;
  },
  async hostname(_words, { stdout }, pod) {
    stdout.write(`${pod.name}\n`);
    return 0;
  },
  true: async () => 0,
  exit: async ([code = '0']) => Number(code),
  cat,
  /** `test -d PATH`, which `kubectl cp` runs first. */
  async test([, path = ''], _io, pod) {
    return statSync(inside(pod, path), { throwIfNoEntry: false })?.isDirectory() ? 0 : 1;
  },
  tar,
  sh: shell,
};

/**
 * Runs one command in a pod.
 *
 * @returns its exit code; 127 for a command that the pod does not know
 */
export async function runCommand(command: readonly string[], io: CommandIO, pod: Pod) {
  const [path = '', ...words] = command;
  const name = path.replace(/^.*\//, '');
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (known === undefined) {
    io.stderr.write(`${name}: command not found\n`);
    return 127;
  }
  return known(words, io, pod);
}

/** The path on this machine of a path in the pod; never outside of the pod's folder. */
function inside(pod: Pod, path: string) {
  return join(pod.directory(), normalize(`/${path}`));
}

async function cat(words: readonly string[], io: CommandIO, pod: Pod) {
  if (words.length === 0) {
    if (io.stdin) await pipeline(io.stdin, io.stdout, { end: false });
    return 0;
  }
  for (const path of words) {
    const file = inside(pod, path);
    if (!existsSync(file)) {
      io.stderr.write(`cat: ${path}: No such file or directory\n`);
      return 1;
    }
    await pipeline(createReadStream(file), io.stdout, { end: false });
  }
  return 0;
}

/**
 * `sh -c SCRIPT`: commands separated by `;` or `&&`, quotes, and `>&2`. Without `-c` it reads lines.
 */
async function shell(words: readonly string[], io: CommandIO, pod: Pod) {
  if (words[0] === '-c') return runScript(words[1] ?? '', io, pod);
  let code = 0;
  let pending = '';
  for await (const chunk of io.stdin ?? []) {
    pending += String(chunk);
    const lines = pending.split(/\r?\n|\r/);
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (/^exit\b/.test(line)) return Number(line.split(' ')[1] ?? code);
      code = await runScript(line, { ...io, stdin: undefined }, pod);
    }
  }
  return code;
}

async function runScript(script: string, io: CommandIO, pod: Pod) {
  let code = 0;
  for (const [, separator, statement] of `;${script}`.matchAll(
    /(;|&&|\n)((?:>&2|[^;&\n"']|"[^"]*"|'[^']*')*)/g,
  )) {
    const words = [...(statement ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, double, single, bare]) => double ?? single ?? bare ?? '',
    );
    if (words.length === 0 || (separator === '&&' && code !== 0)) continue;
    const toError = words.includes('>&2');
    const command = words.filter((word) => word !== '>&2');
    code = await runCommand(command, toError ? { ...io, stdout: io.stderr } : io, pod);
    if (command[0] === 'exit') return code;
  }
  return code;
}

/** `tar cf - PATH` and `tar xf - [-C PATH]`, the two forms that `kubectl cp` uses. */
async function tar(words: readonly string[], io: CommandIO, pod: Pod) {
  const mode = (words[0] ?? '').replace('-', '');
  const operands = words.filter((word, i) => i > 0 && !word.startsWith('-') && words[i - 1] !== '-C');
  const folder = inside(pod, words[words.indexOf('-C') + 1] ?? '/');
  if (mode.includes('c')) {
    const paths = operands.map((path) => `.${normalize(`/${path}`)}`);
    return runTar(['-C', pod.directory(), '--transform', 's,^\\./,,', '-cf', '-', ...paths], io);
  }
  const into = words.includes('-C') ? folder : pod.directory();
  mkdirSync(into, { recursive: true });
  return runTar(['-C', into, '--no-same-owner', '-xmf', '-'], io);
}

async function runTar(words: readonly string[], { stdin, stdout, stderr, signal }: CommandIO) {
  const child = spawn('tar', words, { stdio: ['pipe', 'pipe', 'pipe'], signal });
  const exit = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  child.stdin.on('error', () => stdin?.resume());
  if (stdin) stdin.pipe(child.stdin);
  else child.stdin.end();
  child.stdout.pipe(stdout, { end: false });
  child.stderr.pipe(stderr, { end: false });
  return exit;
}
