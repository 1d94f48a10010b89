/** Looking up roles: how often Keystone is asked, for whom, and how its responses are used. */

import t, { type Test } from 'tap';
import { userTag } from '../../../../src/cache/drop-tags.ts';
import { createProcessCache } from '../../../../src/cache/process-cache.ts';
import { TieredCache } from '../../../../src/cache/tiered.ts';
import { identityOf } from '../../../../src/identity/keystone/keystone-identity.ts';
import {
  assignmentsCodec,
  createRoleLookup,
  disabledScopesCodec,
} from '../../../../src/identity/keystone/role-lookup.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { groupsOf } from '../../../support/identities.ts';
import { bridgeWith, keystoneClient } from '../../../support/keystone/client.ts';
import type { User } from '../../../support/keystone/directory.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';

const TTL = 60_000;
async function setUp(t: Test) {
  const clock = createFakeClock();
  const keystone = await createKeystoneStandIn({ now: clock.now });
  t.teardown(() => keystone.close());
  const { directory } = keystone;
  directory.assign(directory.user('Default', 'bridge'), 'reader', { system: true });
  const credential = bridgeWith({ system: true });
  const { directory: source } = keystoneClient(t, { url: keystone.url, credential, clock });
  if (source === undefined) throw new Error('there is no directory');
  const shared = createProcessCache({ clock, longestLife: TTL });
  const common = {
    clock,
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
    ttl: TTL,
    negativeTTL: 0,
    staleIfUnavailable: 0,
    maxEntries: 10_000,
    configurationDigest: '',
    shared,
  };
  const computed: string[] = [];
  const lookup = createRoleLookup({
    source,
    assignments: new TieredCache({ ...common, codec: assignmentsCodec }),
    disabled: new TieredCache({ ...common, codec: disabledScopesCodec }),
    namespaceOf({ name }) {
      computed.push(name);
      return name;
    },
    tagsOf: ({ uid }) => [userTag(uid)],
    disabledTags: [],
  });
  const acme = directory.domain('acme');
  const identity = ({ id, name, domain }: User) =>
    identityOf({
      user: { id, name, domain },
      scope: { kind: 'unscoped' },
      roles: [],
      federatedGroups: [],
      methods: ['password'],
      auditIDs: ['a'],
      issuedAt: 0,
      expiresAt: Number.MAX_SAFE_INTEGER,
    });
  const inNamespace = (namespace: string) => ({ domainID: acme.id, namespace, cluster: false });
  return { clock, keystone, directory, lookup, computed, identity, inNamespace, shared };
}

t.test('each user of many projects costs one request, besides a few for all users', async (t) => {
  const { keystone, directory, lookup, identity, inNamespace } = await setUp(t);
  const projects = Array.from({ length: 5 }, (_, index) => directory.project('acme', `p${index}`));
  const users = Array.from({ length: 50 }, (_, index) => directory.user('acme', `user${index}`));
  for (const user of users) for (const project of projects) directory.assign(user, 'member', { project });
  for (const user of users) {
    const who = identity(user);
    for (const project of projects) {
      const groups = groupsOf(await lookup.inScope(who, inNamespace(project.name)));
      if (!groups.includes(`keystone:project:${project.id}:role:member`)) t.fail('a role is missing');
    }
  }
  const asked = Object.groupBy(keystone.calls, (call) => call);
  t.equal(asked['GET /v3/role_assignments']?.length, 51, 'one for each user, one for the system');
  t.ok(keystone.calls.length < 60, `${keystone.calls.length} calls for 250 requests`);
});

t.test('looking up the roles in each of many namespaces takes no more for each than for a few', async (t) => {
  const { directory, lookup, computed, identity, inNamespace } = await setUp(t);
  const erin = directory.user('acme', 'erin');
  const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
  for (const name of names) directory.assign(erin, 'member', { project: directory.project('acme', name) });
  const who = identity(erin);
  for (const name of names) t.not(await lookup.inScope(who, inNamespace(name)), who);
  t.equal(computed.length, 2 * names.length, 'the namespace of each project is computed twice');
});

t.test('a user’s roles in one namespace are the same object until they are looked up again', async (t) => {
  const { directory, lookup, identity, inNamespace, clock } = await setUp(t);
  const erin = directory.user('acme', 'erin');
  directory.assign(erin, 'member', { project: directory.project('acme', 'web') });
  directory.assign(erin, 'member', { project: directory.project('acme', 'api') });
  const who = identity(erin);
  const made = await lookup.inScope(who, inNamespace('web'));
  t.equal(await lookup.inScope(who, inNamespace('web')), made);
  t.not(await lookup.inScope(who, inNamespace('api')), made);
  t.equal(await lookup.inScope(who, inNamespace('elsewhere')), who);
  clock.advance(TTL);
  const later = await lookup.inScope(who, inNamespace('web'));
  t.not(later, made);
  t.same(later, made);
});

t.test('project namespaces are those of the user’s enabled projects in the domain', async (t) => {
  const { directory, lookup, identity } = await setUp(t);
  const erin = directory.user('acme', 'erin');
  const off = directory.project('acme', 'off');
  off.enabled = false;
  for (const project of [
    directory.project('acme', 'web'),
    directory.project('acme', 'api'),
    directory.project('globex', 'other'),
    off,
  ])
    for (const role of ['member', 'reader']) directory.assign(erin, role, { project });
  const acme = directory.domain('acme');
  t.same((await lookup.projectNamespaces(identity(erin), acme.id)).toSorted(), ['api', 'web']);
  t.same(await lookup.projectNamespaces(identity(erin), undefined), []);
});
