/**
 * What teams cost: memory and time of a process that lists them, and the time of one request to find the
 * groups of its user. Run with `--expose-gc`; the arguments are the number of teams and of members of each.
 */
import process from 'node:process';
import { TeamIndex } from '../../../src/features/members/team-index.ts';
import { readTeam } from '../../../src/features/members/team-v1alpha1.ts';
import { storableObjects } from '../../../src/kubernetes/informer-store.ts';
import { withGroups } from '../../../src/tenancy/tenancy-mode.ts';
import { openMode } from '../../support/fake-pipeline.ts';
import { claimIdentity } from '../../support/identities.ts';

const [TEAMS = 10_000, MEMBERS = 100] = process.argv.slice(2).map(Number);
const TENANTS = 100;
const USERS_OF_TENANT = 1_000;
const PAGE = 500;
const REQUESTS = 1_000_000;

const read = storableObjects(readTeam);

function heap(): number {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function timed<T>(what: string, action: () => T): T {
  const began = process.cpuUsage();
  const result = action();
  const { user, system } = process.cpuUsage(began);
  process.stdout.write(`${what}: ${((user + system) / 1_000).toFixed(1)} ms of CPU\n`);
  return result;
}

/** As the informer receives it: parsed from text. */
function teamObject(n: number) {
  const tenant = `tenant-${n % TENANTS}`;
  const name = `team-${n}`;
  const members = Array.from({ length: MEMBERS }, (_, at) => {
    const user = (Math.floor(n / TENANTS) * 37 + at * 7) % USERS_OF_TENANT;
    return `${tenant}:user-${user}@example.org`;
  });
  const text = JSON.stringify({
    metadata: {
      ...{ name: `${tenant}.${name}`, namespace: 'stonegate', uid: crypto.randomUUID() },
      ...{ resourceVersion: String(n + 1), creationTimestamp: '2026-11-26T12:00:00Z' },
    },
    spec: { tenant, name, members, managers: members.slice(0, 2) },
  });
  return read({ value: JSON.parse(text), text: () => text });
}

const index = new TeamIndex();
const before = heap();
timed(`list ${TEAMS} teams of ${MEMBERS}`, () => {
  const list = index.beginList();
  for (let from = 0; from < TEAMS; from += PAGE)
    list.take(Array.from({ length: Math.min(PAGE, TEAMS - from) }, (_, at) => teamObject(from + at)));
  list.end();
});
process.stdout.write(`memory: ${((heap() - before) / 2 ** 20).toFixed(1)} MiB\n`);

const user = openMode.userOf(claimIdentity('alice'), openMode.tenantOf(claimIdentity('alice')));
const mode = { ...openMode, userOf: () => user };
const member = { ...user, username: 'tenant-0:user-0@example.org' };
const tenant = mode.tenantOf(claimIdentity('alice'));
for (const [what, one] of [
  ['in no team', user],
  ['in teams', member],
] as const) {
  const decorated = withGroups({ ...mode, userOf: () => one }, (_tenant, name) =>
    index.groupsOf('tenant-0', name),
  );
  const identity = claimIdentity('alice');
  process.stdout.write(`${what}: ${decorated.userOf(identity, tenant).groups.length} groups\n`);
  timed(`${REQUESTS} requests of a user ${what}`, () => {
    for (let n = 0; n < REQUESTS; n += 1) decorated.userOf(identity, tenant);
  });
}
