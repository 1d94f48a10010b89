/**
 * A real Keystone from Debian’s packages for one test file, which is removed afterwards. See `keystone-dev`.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { freePort } from '../free-port.ts';

const SCRIPT = fileURLToPath(new URL('keystone-dev', import.meta.url));
const run = promisify(execFile);

type Fields = Readonly<Record<string, unknown>>;

export interface KeystoneReply {
  readonly status: number;
  readonly body: Fields;
  /** Of `X-Subject-Token`; empty where there is none. */
  readonly token: string;
}

export type RealKeystone = Awaited<ReturnType<typeof startRealKeystone>>;

/** Why tests against a real Keystone cannot run here; false where they can. */
export function missingKeystone(): string | false {
  if (spawnSync(SCRIPT, ['installed']).status === 0) return false;
  return 'no Keystone here: on Debian, run test/support/keystone/keystone-dev install as root';
}

/**
 * Ends with the test.
 *
 * @param settings of its configuration: `section.option=value`
 */
export async function startRealKeystone(t: Pick<Test, 'teardown'>, ...settings: readonly string[]) {
  const dir = await mkdtemp(join(tmpdir(), 'keystone-'));
  const port = await freePort();
  await run(SCRIPT, ['start', dir, String(port), ...settings]).catch(async (error: unknown) => {
    await rm(dir, { recursive: true, force: true });
    throw error;
  });
  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= run(SCRIPT, ['stop', dir]).then(() => rm(dir, { recursive: true, force: true })));
  t.teardown(stop);
  const url = `http://127.0.0.1:${port}/v3`;
  let admin = '';

  async function call(method: string, path: string, body?: unknown, headers: Fields = {}) {
    const response = await fetch(`${url}${path}`, {
      method,
      // A connection of its own: Keystone closes an idle one in the very moment in which it would be used
      // again.
      headers: { 'Content-Type': 'application/json', 'X-Auth-Token': admin, Connection: 'close', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const reply: Fields = text === '' ? {} : JSON.parse(text);
    return { status: response.status, body: reply, token: response.headers.get('x-subject-token') ?? '' };
  }

  async function expectSuccess(what: string, reply: KeystoneReply): Promise<KeystoneReply> {
    if (reply.status < 300) return reply;
    throw new Error(`${what}: ${reply.status} ${JSON.stringify(reply.body)}`);
  }

  async function login(identity: Fields, scope?: unknown) {
    const body = { auth: { identity, ...(scope !== undefined && { scope }) } };
    const reply = await call('POST', '/auth/tokens?nocatalog', body, { 'X-Auth-Token': '' });
    return (await expectSuccess('login', reply)).token;
  }

  async function make(kind: string, fields: Fields) {
    const one = kind.slice(0, -1);
    const { body } = await expectSuccess(kind, await call('POST', `/${kind}`, { [one]: fields }));
    return idOf(body[one]);
  }

  const scope = { project: { name: 'admin', domain: { name: 'Default' } } };
  admin = await login(passwordOf('admin', 'Default', 'admin-pass'), scope);
  return {
    url,
    /** As its administrator, or with another token. */
    call: async (method: string, path: string, body?: unknown, headers?: Fields) =>
      expectSuccess(`${method} ${path}`, await call(method, path, body, headers)),
    /** Makes one of `projects`, `users`, …; returns its id. */
    make,
    /** The id of the role, which is made where there is none. */
    async role(name: string) {
      const { body } = await expectSuccess('roles', await call('GET', `/roles?name=${name}`));
      const [found] = Array.isArray(body.roles) ? body.roles : [];
      return found === undefined ? make('roles', { name }) : idOf(found);
    },
    login,
    /** Ends it before the test ends. */
    stop,
  };
}

export function passwordOf(name: string, domain: string, password: string): Fields {
  return { methods: ['password'], password: { user: { name, domain: { name: domain }, password } } };
}

export function idOf(value: unknown) {
  if (typeof value !== 'object' || value === null || !('id' in value)) throw new Error('there is no id');
  return String(value.id);
}
