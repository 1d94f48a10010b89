/** What the users of a tenant may do with its teams, and what is stored. */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { TeamIndex } from '../../../../src/features/teams/team-index.ts';
import { readTeam, TEAMS } from '../../../../src/features/teams/team-v1alpha1.ts';
import { type GivenTeam, type TeamCaller, Teams } from '../../../../src/features/teams/teams.ts';
import { WITHOUT_TENANT_UIDS } from '../../../../src/features/tenant-uids.ts';
import { storableObjects } from '../../../../src/kubernetes/informer-store.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';
import { recordedReviewer } from '../../../support/reviewed.ts';

const PLACE = { namespace: 'stonegate' };
const NEVER = new AbortController().signal;
const mode = createSharedMode({ domains: {}, reservedNamePrefixes: ['oidc-'] });

/** @param rights such as `acme:alice create` */
function site(rights: readonly string[] = ['acme:alice *']) {
  const memory = createMemoryObjects();
  const created = { creationTimestamp: '2026-11-26T12:00:00Z' };
  const objects: typeof memory = {
    ...memory,
    async create(kind, place, object, signal) {
      return memory.create(kind, place, { ...object, metadata: { ...object.metadata, ...created } }, signal);
    },
  };
  const index = new TeamIndex(WITHOUT_TENANT_UIDS);
  const read = storableObjects(readTeam);
  const follow = () => {
    const list = index.beginList();
    list.take(memory.all().map(({ object }) => read({ value: object, text: () => '' })));
    list.end();
  };
  const known = { isCurrent: true };
  const { reviewSelf } = recordedReviewer({ allowed: false }).reviewer;
  const isAllowed = (name: string, verb = '') =>
    rights.includes(`${name} ${verb}`) || rights.includes(`${name} *`);
  const teams = new Teams({
    ...{ mode, objectsOf: () => objects, index, place: PLACE, teamMembers: 3 },
    tenants: WITHOUT_TENANT_UIDS,
    isCurrent: () => known.isCurrent,
    asIdentity: { subjectOf: () => Promise.reject(new Error('no identity is asked about')) },
    reviewer: {
      reviewSelf,
      review: async ({ username }, asked) => ({
        allowed: isAllowed(username, 'resourceAttributes' in asked ? asked.resourceAttributes.verb : ''),
      }),
    },
    clock: {
      now: () => 0,
      monotonic: () => 0,
      after(_milliseconds, action) {
        follow();
        queueMicrotask(action);
        return { cancel() {} };
      },
    },
  });
  const as = (username: string, tenant = 'acme'): TeamCaller => ({
    ...{ user: { username, uid: '', groups: [], extra: {} }, sender: { kind: 'stonegate' }, home: undefined },
    ...{
      account: { kind: 'tenant', tenant: toTenantName(tenant) },
      tenant: toTenantName(tenant),
      signal: NEVER,
    },
  });
  const change = (spec: GivenTeam, resourceVersion?: string) => ({
    ...{ name: 'web', spec, resourceVersion, isDryRun: false },
  });
  return {
    ...{ teams, memory, as, change, known, follow },
    create: (spec: GivenTeam) => teams.create(as('acme:alice'), change(spec)),
    stored: () => memory.find(TEAMS, PLACE, 'acme.web'),
  };
}

async function codeOf(action: Promise<unknown>): Promise<string> {
  try {
    await action;
    return 'none';
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.code;
  }
}

t.test(
  'the creator of a team manages it, and members may be given by their names in the tenant',
  async (t) => {
    const { create, stored } = site();
    const { spec, status, metadata } = await create({
      members: ['bob', 'acme:bob', 'oidc-carol@acme.example', 'globex:gina'],
    });
    const members = ['acme:bob', 'globex:gina', 'oidc-carol@acme.example'];
    t.strictSame(
      { spec, status },
      { spec: { members, managers: ['acme:alice'] }, status: { group: 'stonegate:team:acme:web' } },
    );
    t.equal(metadata.name, 'web');
    t.match(stored(), { kind: 'Team', spec: { tenant: 'acme', name: 'web', members } });
  },
);

t.test(
  'a team with the cluster’s own users, too many users, too long names or no manager is refused',
  async (t) => {
    const { create, memory } = site();
    for (const user of ['system:admin', 'system:serviceaccount:shop:bot', 'stonegate:x', ' bob', ''])
      t.equal(await codeOf(create({ members: [user] })), 'ObjectInvalid', user);
    t.equal(await codeOf(create({ members: ['a', 'b', 'c', 'd'] })), 'ObjectInvalid');
    t.equal(await codeOf(create({ managers: [] })), 'ObjectInvalid');
    t.equal(await codeOf(create({ members: ['x'.repeat(400)] })), 'ObjectInvalid');
    t.strictSame(memory.writes, []);
  },
);

t.test('a manager may change the team without further rights, but not delete it', async (t) => {
  const { teams, as, change, create } = site();
  const { metadata } = await create({ members: ['carol'], managers: ['bob'] });
  const joined = change({ members: ['carol', 'dave'] }, metadata.resourceVersion);
  const { spec } = await teams.update(as('acme:bob'), joined);
  t.strictSame(spec, { members: ['acme:carol', 'acme:dave'], managers: ['acme:bob'] });
  t.equal(await codeOf(teams.delete(as('acme:bob'), 'web', false)), 'AccessDenied');
});

t.test('fields that the operator has added to the stored object stay', async (t) => {
  const { teams, as, change, create, memory, stored } = site();
  await create({ members: ['bob'] });
  const object = stored();
  memory.put(TEAMS, PLACE, { ...object, metadata: { ...object?.metadata, labels: { of: 'operator' } } });
  await teams.update(as('acme:alice'), change({ members: [] }, stored()?.metadata.resourceVersion));
  t.match(stored(), { metadata: { labels: { of: 'operator' } }, spec: { members: { length: 0 } } });
});

t.test('the second of two changes of the same state is a conflict', async (t) => {
  const { teams, as, change, create, memory, stored } = site();
  const { metadata } = await create({});
  await teams.update(as('acme:alice'), change({ members: ['bob'] }, metadata.resourceVersion));
  const second = change({ members: ['carol'] }, metadata.resourceVersion);
  t.equal(await codeOf(teams.update(as('acme:alice'), second)), 'Conflict');
  t.equal(await codeOf(teams.update(as('acme:alice'), change({}))), 'Conflict');
  const present = stored()?.metadata.resourceVersion;
  memory.before = (verb) => {
    if (verb === 'update' || verb === 'delete') memory.put(TEAMS, PLACE, { ...stored() });
  };
  t.equal(await codeOf(teams.update(as('acme:alice'), change({}, present))), 'Conflict');
  t.equal(await codeOf(teams.delete(as('acme:alice'), 'web', false)), 'Conflict');
  t.match(stored(), { spec: { members: ['acme:bob'] } });
  t.equal(await codeOf(create({})), 'AlreadyExists');
});

t.test('a dry run checks everything and writes nothing', async (t) => {
  const { teams, as, change, create, memory } = site();
  const dry = (spec: GivenTeam, version?: string) => ({ ...change(spec, version), isDryRun: true });
  t.strictSame((await teams.create(as('acme:alice'), dry({ members: ['bob'] }))).spec.members, ['acme:bob']);
  const { metadata } = await create({});
  t.equal(await codeOf(teams.create(as('acme:alice'), dry({}))), 'AlreadyExists');
  const changed = await teams.update(as('acme:alice'), dry({ members: ['bob'] }, metadata.resourceVersion));
  t.strictSame(changed.spec.members, ['acme:bob']);
  await teams.delete(as('acme:alice'), 'web', true);
  t.strictSame(memory.writes, ['create teams stonegate/acme.web']);
});

t.test(
  'users see the teams that they are in or manage, or all of their tenant if they may list them',
  async (t) => {
    const { teams, as, create } = site(['acme:alice *', 'acme:eve list', 'acme:eve get', 'globex:gina *']);
    await create({ members: ['bob'], managers: ['carol'] });
    const seenBy = async (name: string, tenant?: string) =>
      (await teams.list(as(name, tenant))).map(({ metadata }) => metadata.name);
    for (const name of ['acme:bob', 'acme:carol', 'acme:eve']) {
      t.strictSame(await seenBy(name), ['web'], name);
      t.equal((await teams.get(as(name), 'web')).metadata.name, 'web');
    }
    for (const [name, tenant] of [
      ['acme:dave', 'acme'],
      ['globex:gina', 'globex'],
      ['acme:bob', 'globex'],
    ] as const) {
      t.strictSame(await seenBy(name, tenant), [], name);
      t.equal(await codeOf(teams.get(as(name, tenant), 'web')), 'NotFound');
    }
  },
);

t.test('a tenant has 1,000 teams at most', async (t) => {
  const { teams, as, change, memory, follow } = site();
  const team = (n: number, tenant: string) => ({
    metadata: { name: `${tenant}.t${n}`, creationTimestamp: '2026-11-26T12:00:00Z' },
    spec: { tenant, name: `t${n}`, members: [], managers: ['x'] },
  });
  for (let n = 0; n < 1_000; n += 1) memory.put(TEAMS, PLACE, team(n, 'acme'));
  follow();
  t.equal(await codeOf(teams.create(as('acme:alice'), change({}))), 'AccessDenied');
});

t.test('while the teams are not known, listing them fails', async (t) => {
  const { teams, as, known } = site();
  known.isCurrent = false;
  t.equal(await codeOf(teams.list(as('acme:alice'))), 'UpstreamUnavailable');
});
