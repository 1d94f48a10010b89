/**
 * Memory and time of a process that lists teams. Run with `--expose-gc`; the arguments are the number of
 * teams and of members of each.
 */
import process from 'node:process';
import { TeamIndex } from '../../../src/features/teams/team-index.ts';
import { readTeam } from '../../../src/features/teams/team-v1alpha1.ts';
import { WITHOUT_TENANT_UIDS } from '../../../src/features/tenant-uids.ts';
import { storableObjects } from '../../../src/kubernetes/informer-store.ts';

const [TEAMS = 10_000, MEMBERS = 100] = process.argv.slice(2).map(Number);
const TENANTS = 100;
const USERS_OF_TENANT = 1_000;
const PAGE = 500;

const read = storableObjects(readTeam);

function heap(): number {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
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

const index = new TeamIndex(WITHOUT_TENANT_UIDS);
const before = heap();
const began = process.cpuUsage();
const list = index.beginList();
for (let from = 0; from < TEAMS; from += PAGE)
  list.take(Array.from({ length: Math.min(PAGE, TEAMS - from) }, (_, at) => teamObject(from + at)));
list.end();
const { user, system } = process.cpuUsage(began);
process.stdout.write(`${TEAMS} teams of ${MEMBERS}: ${((user + system) / 1_000).toFixed(1)} ms of CPU\n`);
process.stdout.write(`memory: ${((heap() - before) / 2 ** 20).toFixed(1)} MiB\n`);
