/** The kubectl binaries on this machine: the one on the PATH and the versions installed beside it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { type Credential, kubeconfigOf } from '../kubeconfig.ts';
import { newestKubectl } from '../kubernetes/programs.ts';

/** Why a test that needs kubectl is skipped, and how to install it. */
export const NO_KUBECTL = 'kubectl is not installed: apt-get install kubernetes-client';

export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Kubectl {
  /** For example 33 for version 1.33. */
  readonly minor: number;
  /** @param words as a list if one of them has a space */
  run(words: string | readonly string[], stdin?: string): Promise<KubectlResult>;
  /** Starts a command that does not end by itself; the caller kills it. */
  start(words: string | readonly string[]): ChildProcess;
  /** A folder for files that kubectl reads or writes. */
  readonly folder: string;
}

export interface KubectlTarget extends Credential {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  /** Added to the environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The oldest and the newest kubectl of this machine: one path, two, or none. */
export function findKubectls() {
  const all = findAllKubectls();
  return all.filter((_, index) => index === 0 || index === all.length - 1);
}

/** The kubectls for tests that run with each; if there are none, one test of this title is skipped. */
export function kubectlsOrSkip(t: Test, title: string) {
  const found = findKubectls();
  if (found.length === 0) t.test(title, { skip: NO_KUBECTL }, async () => {});
  return found;
}

/** Every kubectl of this machine, oldest first; the newest is built with the tests' other programs. */
export function findAllKubectls() {
  return [...installedKubectls(), ...[newestKubectl()].filter((file) => existsSync(file))];
}

function installedKubectls() {
  const onPath = spawnSync('sh', ['-c', 'command -v kubectl'], { encoding: 'utf8' }).stdout.trim();
  if (onPath === '') return [];
  const folder = dirname(realpathSync(onPath));
  const versioned = readdirSync(folder)
    .filter((file) => /^kubectl\.\d+\.\d+$/.test(file))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((file) => join(folder, file));
  return versioned.length > 0 ? versioned : [onPath];
}

/** The minor version that the binary reports; vendors write `33+`. */
function minorOf(binary: string) {
  const words = ['version', '--client', '-o', 'json'];
  const said: { clientVersion: { minor: string } } = JSON.parse(
    spawnSync(binary, words, { encoding: 'utf8' }).stdout,
  );
  return Number.parseInt(said.clientVersion.minor, 10);
}

/** A kubectl with its own kubeconfig and cache, which end with the test. */
export function createKubectl(t: Pick<Test, 'teardown'>, binary: string, target: KubectlTarget): Kubectl {
  const folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'kubeconfig');
  writeFileSync(config, kubeconfigOf({ url: target.server, ca: target.ca }, target));
  const env = { ...process.env, ...target.environment };
  const start = (words: string | readonly string[]): ChildProcess => {
    const list = typeof words === 'string' ? words.split(' ') : words;
    const options = ['--kubeconfig', config, '--cache-dir', join(folder, 'cache')];
    return spawn(binary, [...options, ...list], { cwd: folder, env });
  };
  return {
    minor: minorOf(binary),
    folder,
    start,
    run: (words, stdin = '') =>
      new Promise((resolve, reject) => {
        const child = start(words);
        let stdout = '';
        let stderr = '';
        child.stdout?.on('data', (chunk) => {
          stdout += String(chunk);
        });
        child.stderr?.on('data', (chunk) => {
          stderr += String(chunk);
        });
        child.once('error', reject);
        child.once('close', (code) => resolve({ code, stdout, stderr }));
        child.stdin?.on('error', () => child.stdin?.destroy());
        child.stdin?.end(stdin);
      }),
  };
}
