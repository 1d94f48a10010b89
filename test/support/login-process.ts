/**
 * `stonegate login` as a separate process, as kubectl starts it, with only the environment that the test
 * gives, or on a terminal; and a kubeconfig that uses it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { kubeconfigFor } from './kubeconfig.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface LoginResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs without a terminal; standard input is open and silent, so that a prompt would hang. */
export function runLogin(
  words: readonly string[],
  env: Environment,
  command: 'login' | 'logout' | 'kubeconfig' = 'login',
): Promise<LoginResult> {
  const child = spawn(process.execPath, [MAIN, command, ...words], { env: minimal(env) });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}

/** Why a test that needs a terminal is skipped. */
export const NO_TERMINAL = 'script is not installed: apt-get install bsdutils';

export function hasTerminal() {
  return spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Runs on a pseudo-terminal. @param stdout the file for standard output, which otherwise kubectl reads */
export function runLoginOnTerminal(
  words: readonly string[],
  env: Environment,
  stdout?: string,
  command: 'login' | 'kubeconfig' = 'login',
) {
  const shell = [process.execPath, MAIN, command, ...words].map(quote).join(' ');
  const redirected = stdout === undefined ? shell : `${shell} > ${quote(stdout)}`;
  const child: ChildProcess = spawn('script', ['-qefc', redirected, '/dev/null'], {
    env: { ...minimal(env), SHELL: '/bin/sh' },
  });
  let screen = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  return {
    /** The text that the user has seen so far. */
    get screen() {
      return screen;
    },
    sees: (text: string) => eventually(() => screen.includes(text)),
    type: (text: string) => void child.stdin?.write(text),
    ended: new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    }),
  };
}

export interface LoginKubeconfig {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly words: readonly string[];
  readonly env: Environment;
  readonly apiVersion?: string;
}

/** A kubeconfig with which kubectl logs in by itself. */
export function loginKubeconfig(options: LoginKubeconfig) {
  const { server, ca, words, env, apiVersion = 'client.authentication.k8s.io/v1' } = options;
  const exec = {
    apiVersion,
    command: process.execPath,
    args: [MAIN, 'login', ...words],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    interactiveMode: 'IfAvailable',
  };
  return kubeconfigFor({ url: server, ca }, { exec });
}

function minimal(env: Environment): Environment {
  const { PATH = '', NODE_V8_COVERAGE: coverage } = process.env;
  return { PATH, NODE_NO_WARNINGS: '1', ...(coverage && { NODE_V8_COVERAGE: coverage }), ...env };
}

function quote(word: string) {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
