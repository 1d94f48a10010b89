/** The clients of one round: users of a tenant, watches, users who come and go, and a hostile tenant. */
import { setTimeout as pause } from 'node:timers/promises';
import { openRequest, type RequestOptions } from '../support/open-request.ts';
import type { SoakSite } from './site.ts';
import type { Expected, Received, Verdicts } from './verdicts.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const FOREIGN = '/api/v1/tenants/acme/namespaces/default/configmaps';
const WATCHES = 10;
const HOSTILE_CLIENTS = 4;
/** Requests of each at once, which together are over the limit of a tenant. */
const AT_ONCE = 40;
/** Milliseconds between two requests of a client. The users of acme stay below the limit of a tenant. */
const BETWEEN = 250;
const HOSTILE_BETWEEN = 5;
/** Milliseconds for which a user who comes and goes has a token. */
const LIFE = 4_000;
/** Milliseconds beside the end of a token in which either response is right. */
const MARGIN = 1_500;
/** Limits of credentials are by source address. */
const HOSTILE_ADDRESS = '127.0.0.2';

const OWN: Expected = { name: 'own objects', statuses: [200], never: '"globex"' };
const EXPIRED: Expected = { name: 'expired token', statuses: [401] };
const HOSTILE: Expected = {
  name: 'hostile tenant',
  statuses: [400, 401, 403, 404, 405, 429],
  never: '"acme"',
};
const HOSTILE_OWN: Expected = { ...HOSTILE, name: 'hostile tenant, own objects', statuses: [200, 429] };

/** Runs until the signal, and resolves when all of them have disconnected. */
export async function runClients(site: SoakSite, verdicts: Verdicts, signal: AbortSignal): Promise<void> {
  const { testbed } = site;
  const alice = testbed.keystoneToken('alice');
  const carol = await testbed.provider.idToken('carol');
  const tasks: (() => Promise<void>)[] = [
    async () => judged(site, verdicts, OWN, alice, CONFIGMAPS),
    async () => judged(site, verdicts, OWN, carol, `${CONFIGMAPS}/settings`),
    () => comeAndGo(site, verdicts),
    async () => {
      for (const tenant of ['acme', 'globex'])
        testbed.apiServer.seed.configMap('tick', { owner: tenant, at: String(Date.now()) }, { tenant });
    },
    ...Array.from({ length: WATCHES }, () => () => watch(site, verdicts, alice, signal)),
  ];
  const hostile = Array.from({ length: HOSTILE_CLIENTS }, () => () => attack(site, verdicts));
  await Promise.all([
    ...tasks.map((task) => repeat(task, BETWEEN, signal)),
    ...hostile.map((task) => repeat(task, HOSTILE_BETWEEN, signal)),
  ]);
}

async function repeat(task: () => Promise<void>, between: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await task();
    await pause(between);
  }
}

/** One request on a connection of its own. */
async function judged(
  site: SoakSite,
  verdicts: Verdicts,
  expected: Expected,
  token: string,
  path: string,
  { from, ...options }: RequestOptions & { readonly from?: string } = {},
): Promise<void> {
  const judge = verdicts.begin(expected);
  const destination = { port: site.port, ca: site.testbed.authority.cert, ...(from && { from }) };
  judge(await received(openRequest(destination, token, path, options).answered));
}

async function received(answered: Promise<{ status: number; body: string }>): Promise<Received> {
  try {
    return await answered;
  } catch (error) {
    return { status: undefined, body: String(error) };
  }
}

/** A user's token works until its end, and not after it. */
async function comeAndGo(site: SoakSite, verdicts: Verdicts): Promise<void> {
  const end = Date.now() + LIFE;
  const token = site.newUser(LIFE);
  const validUntil = end - MARGIN;
  while (Date.now() < validUntil) {
    await judged(site, verdicts, { ...OWN, validUntil }, token, CONFIGMAPS);
    await pause(200);
  }
  await pause(Math.max(0, end + MARGIN - Date.now()));
  await judged(site, verdicts, EXPIRED, token, CONFIGMAPS);
}

/** A watch until it ends or the round does. */
async function watch(site: SoakSite, verdicts: Verdicts, token: string, signal: AbortSignal): Promise<void> {
  const judge = verdicts.begin({ ...OWN, name: 'watch' });
  const destination = { port: site.port, ca: site.testbed.authority.cert };
  const request = openRequest(destination, token, `${CONFIGMAPS}?watch=true`);
  const leave = (): void => request.leave();
  signal.addEventListener('abort', leave, { once: true });
  const response = await received(request.answered);
  signal.removeEventListener('abort', leave);
  // The client itself has left.
  if (!signal.aborted || response.status !== undefined) judge(response);
}

/** Invalid tokens, another tenant's paths, more requests than allowed, and connections that are left open. */
async function attack(site: SoakSite, verdicts: Verdicts): Promise<void> {
  const bob = site.testbed.keystoneToken('bob');
  const from = HOSTILE_ADDRESS;
  const ask = (expected: Expected, token: string, path: string, options: RequestOptions = {}) =>
    judged(site, verdicts, expected, token, path, { ...options, from });
  await ask(HOSTILE, `gAAAAA${Math.random()}`, CONFIGMAPS);
  await ask(HOSTILE, bob, FOREIGN);
  await ask(HOSTILE, bob, '/api/v1/namespaces/default/../../tenants/acme');
  await ask(HOSTILE, bob, CONFIGMAPS, { headers: { 'Impersonate-User': 'system:admin' } });
  await Promise.all(Array.from({ length: AT_ONCE }, () => ask(HOSTILE_OWN, bob, CONFIGMAPS)));
  const destination = { port: site.port, ca: site.testbed.authority.cert, from };
  const left = openRequest(destination, bob, `${CONFIGMAPS}?watch=true`);
  await pause(20);
  left.leave();
}
