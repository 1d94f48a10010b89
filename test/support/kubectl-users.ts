/**
 * kubectl for the users of the testbed: each has its own kubeconfig and cache, and does not know that
 * Stonegate is in between.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Test } from 'tap';
import type { LoggedRequest } from './apiserver/api-server.ts';
import { createKubectl, type Kubectl } from './apiserver/kubectl.ts';
import { startStonegate } from './stonegate.ts';
import type { TestbedOptions } from './testbed.ts';

export type KubectlUsers = Awaited<ReturnType<typeof startForKubectl>>;

/** Everything ends with the test. */
export async function startForKubectl(t: Test, options: Omit<TestbedOptions, 'folder'> = {}) {
  const stonegate = await startStonegate(t, { ...options });
  const { apiServer, authority, keystone } = stonegate;
  return {
    stonegate,
    /** A kubectl with the token. */
    as(binary: string, token: string, environment: Readonly<Record<string, string>> = {}) {
      return createKubectl(t, binary, { server: stonegate.url, ca: authority.cert, token, environment });
    },
    /** The next request to the API server that matches. */
    next(matches: (request: LoggedRequest) => boolean) {
      const before = new Set(apiServer.requests);
      return apiServer.arrival((request) => !before.has(request) && matches(request));
    },
    /** A token of a user of acme who has only the roles and bindings that a test gives them. */
    newcomer: (name: string) => keystone.issue(keystone.directory.user('acme', name)),
  };
}

/** Asserts that the command succeeds. @returns its output */
export async function succeeds(t: Test, kubectl: Kubectl, words: string | readonly string[], stdin?: string) {
  const { code, stdout, stderr } = await kubectl.run(words, stdin);
  t.equal(code, 0, `kubectl ${[words].flat().join(' ')} succeeds`, { stdout, stderr });
  return stdout;
}

/** `kubectl create` with JSON, in any version, whatever its own typed clients would send. */
export async function creates(t: Test, kubectl: Kubectl, words: string) {
  const manifest = await succeeds(t, kubectl, `create ${words} --dry-run=client -o json`);
  // In the stand-in's OpenAPI document this field may not be null.
  const given = manifest.replace(/"creationTimestamp": null,?/g, '').replace(/,(\s*\})/g, '$1');
  return succeeds(t, kubectl, 'create -f -', given);
}

/** Asserts that the command fails. @returns its error output */
export async function fails(t: Test, kubectl: Kubectl, words: readonly string[], stdin?: string) {
  const { code, stdout, stderr } = await kubectl.run(words, stdin);
  t.equal(code, 1, `kubectl ${words.join(' ')} fails`, { stdout, stderr });
  return stderr;
}

/** Waits until the output of a running kubectl matches; fails if kubectl ends first. */
export async function prints(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  const { stdout } = child;
  if (stdout === null) throw new Error('kubectl has no standard output');
  let printed = '';
  const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
  const onData = (chunk: unknown) => {
    printed += String(chunk);
    const found = pattern.exec(printed);
    if (found !== null) resolve(found);
  };
  const onEnd = () => reject(new Error(`kubectl ended after printing ${JSON.stringify(printed)}`));
  stdout.on('data', onData).once('end', onEnd);
  return promise.finally(() => stdout.off('data', onData).off('end', onEnd));
}

export async function stop(child: ChildProcess) {
  const closed = once(child, 'close');
  child.kill();
  await closed;
}
