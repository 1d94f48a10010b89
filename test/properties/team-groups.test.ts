/**
 * The groups of a user are those of the teams that name the user, in whatever order the API server reports
 * changes.
 */
import fc from 'fast-check';
import t from 'tap';
import { TeamIndex } from '../../src/features/teams/team-index.ts';
import { readTeam } from '../../src/features/teams/team-v1alpha1.ts';
import { WITHOUT_TENANT_UIDS } from '../../src/features/tenant-uids.ts';
import { storableObjects } from '../../src/kubernetes/informer-store.ts';

const TENANTS = ['acme', 'globex'];
const TEAMS = ['web', 'ops', 'db'];
const USERS = ['acme:alice', 'acme:bob', 'oidc:carol'];

const read = storableObjects(readTeam);

function teamObject(tenant: string, name: string, members: readonly string[], revision: number) {
  const value = {
    metadata: {
      ...{ name: `${tenant}.${name}`, namespace: 'stonegate', uid: 'u' },
      ...{ resourceVersion: String(revision), creationTimestamp: '2026-11-26T12:00:00Z' },
    },
    spec: { tenant, name, members, managers: ['acme:alice'] },
  };
  return read({ value, text: () => JSON.stringify(value) });
}

const place = { tenant: fc.constantFrom(...TENANTS), name: fc.constantFrom(...TEAMS) };
const members = fc.array(fc.constantFrom(...USERS), { maxLength: 4 });
const event = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), ...place, members }),
  fc.record({ kind: fc.constant('delete' as const), ...place }),
  fc.record({
    kind: fc.constant('list' as const),
    isComplete: fc.boolean(),
    teams: fc.uniqueArray(fc.record({ ...place, members }), {
      selector: ({ tenant, name }) => tenant + name,
    }),
  }),
);

t.test('the groups of a user are those of the teams that name the user', async () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const index = new TeamIndex(WITHOUT_TENANT_UIDS);
      /** What the API server has: `tenant.name` → members. */
      const teams = new Map<string, readonly string[]>();
      const set = (tenant: string, name: string, users: readonly string[]) =>
        teams.set(`${tenant}.${name}`, users);
      for (const [at, one] of events.entries()) {
        const before = new Map(
          users().map(([tenant, user]) => [`${tenant} ${user}`, index.groupsOf(tenant, user)]),
        );
        if (one.kind === 'put') {
          index.put(teamObject(one.tenant, one.name, one.members, at + 1));
          set(one.tenant, one.name, one.members);
        } else if (one.kind === 'delete') {
          index.delete(teamObject(one.tenant, one.name, [], at + 1));
          teams.delete(`${one.tenant}.${one.name}`);
        } else {
          const list = index.beginList();
          list.take(one.teams.map(({ tenant, name, members }) => teamObject(tenant, name, members, at + 1)));
          if (one.isComplete) {
            list.end();
            teams.clear();
          }
          for (const { tenant, name, members } of one.teams) set(tenant, name, members);
        }
        for (const [tenant, user] of users()) {
          const groups = index.groupsOf(tenant, user);
          const expected = TEAMS.filter((name) => teams.get(`${tenant}.${name}`)?.includes(user));
          const found = [...groups].sort().join();
          if (
            found !==
            expected
              .map((name) => `stonegate:team:${tenant}:${name}`)
              .sort()
              .join()
          )
            return false;
          const known = before.get(`${tenant} ${user}`) ?? [];
          if ([...known].join() === [...groups].join() && known !== groups) return false;
        }
      }
      return true;
    }),
  );
});

t.test('an object that is stored under the name of another team is ignored', async (t) => {
  const spec = { tenant: 'acme', name: 'web', members: ['acme:bob'], managers: [] };
  const metadata = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-26T12:00:00Z' };
  t.ok(readTeam({ metadata: { ...metadata, name: 'acme.web' }, spec }));
  for (const name of ['acme.ops', 'globex.web', 'web'])
    t.equal(readTeam({ metadata: { ...metadata, name }, spec }), undefined, name);
});

function users(): [tenant: string, user: string][] {
  return TENANTS.flatMap((tenant) => USERS.map((user): [string, string] => [tenant, user]));
}
