/** When a team begins to count for its members, and for how long. */
import t from 'tap';
import { openMemberships } from '../../../../src/features/teams/memberships.ts';
import { WITHOUT_TENANT_UIDS } from '../../../../src/features/tenant-uids.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { DOWN, scriptedResource } from '../../../support/scripted-resource.ts';

const acme = toTenantName('acme');

function team(members: readonly string[], revision: number) {
  return {
    metadata: {
      ...{ name: 'acme.web', uid: 'u', resourceVersion: String(revision) },
      creationTimestamp: '2026-11-26T12:00:00Z',
    },
    spec: { tenant: 'acme', name: 'web', members, managers: ['acme:alice'] },
  };
}

t.test('a team counts from its event on, as long as its state is known', async (t) => {
  const clock = createFakeClock(1_000_000);
  const teams = scriptedResource();
  teams.listWith({ items: [team(['acme:bob'], 3)], revision: '10' });
  const memberships = openMemberships({
    ...{ upstream: teams.upstream, path: '/teams', clock, logger: silentLogger, telemetry: noTelemetry },
    tenants: WITHOUT_TENANT_UIDS,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
  });
  const groups = (user: string) => memberships.groupsOf(acme, user);
  t.equal(memberships.isCurrent(), false);
  memberships.informers.start();
  t.teardown(() => memberships.informers.stop());
  const watch = await teams.watch(1);
  t.same(groups('acme:bob'), ['stonegate:team:acme:web']);
  t.same(groups('acme:alice'), [], 'a manager is not a member by that alone');
  watch.send({ type: 'MODIFIED', object: team(['acme:carol'], 11) });
  await eventually(() => groups('acme:carol').length === 1);
  t.same(groups('acme:bob'), []);
  teams.listWith(DOWN);
  watch.breakOff();
  clock.advance(180_000);
  t.same(groups('acme:carol'), [], 'whether the user is still in the team is not known');
});
