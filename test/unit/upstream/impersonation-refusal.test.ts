import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { parse } from 'yaml';
import { type LogFields, silentLogger } from '../../../src/lib/logger.ts';
import { ImpersonationRefusals } from '../../../src/upstream/impersonation-refusal.ts';
import { forbiddenImpersonation } from '../../support/apiserver/statuses.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { eachRow } from '../../support/rows.ts';

const headers = [['Impersonate-User', 'acme:alice']] as const;
const reader = (ownName?: string) =>
  new ImpersonationRefusals({ ownName, clock: createFakeClock(), logger: silentLogger });

function attempt(changes: Parameters<typeof forbiddenImpersonation>[0] = {}) {
  const { status } = forbiddenImpersonation(changes);
  return Buffer.from(JSON.stringify(status));
}

t.test('a recorded refusal of a real server is recognized', async (t) => {
  const url = new URL('../../conformance/arktos/recorded/impersonation-refused.json', import.meta.url);
  const body = Buffer.from(JSON.stringify(JSON.parse(readFileSync(url, 'utf8')).response.body));
  t.same(reader('admin').read(body, headers), { resource: 'users' });
  t.same(reader().read(body, headers), { resource: 'users' }, 'also if Stonegate’s own name is unknown');
  t.equal(reader('stonegate').read(body, headers), undefined);
});

t.test('a refusal of each impersonated resource is recognized, with the key of an extra', async (t) => {
  await eachRow(
    `
    {resource: groups, name: g} | {resource: groups}
    {group: authentication.k8s.io, resource: uids, name: u} | {resource: uids}
    {resource: serviceaccounts, name: a, namespace: n} | {resource: serviceaccounts}
    {group: authentication.k8s.io, resource: userextras, subresource: example.com/key, name: v} | {resource: userextras, extraKey: example.com/key}
    {group: authentication.k8s.io, verb: 'impersonate:user-info'} | {resource: users}`,
    (changes, refusal) =>
      t.same(reader('stonegate').read(attempt(parse(changes)), headers), parse(refusal), changes),
  );
});

t.test('a missing right is logged once a minute, however many requests are refused', async (t) => {
  const clock = createFakeClock();
  const logged: LogFields[] = [];
  const logger = { ...silentLogger, error: (fields: LogFields) => logged.push(fields) };
  const refusals = new ImpersonationRefusals({ ownName: 'stonegate', clock, logger });
  for (let i = 0; i < 100; i += 1) {
    refusals.report({ resource: 'groups' });
    refusals.report({ resource: 'userextras', extraKey: `example.com/${i}` });
  }
  const first = [{ resource: 'groups' }, { resource: 'userextras', extraKey: 'example.com/0' }];
  t.same(logged, first);
  clock.advance(59_999);
  refusals.report({ resource: 'groups' });
  t.same(logged, first);
  clock.advance(1);
  refusals.report({ resource: 'groups' });
  t.same(logged, [...first, { resource: 'groups' }]);
});

t.test('any other refusal is the user’s', async (t) => {
  for (const [what, body] of [
    ['no JSON', Buffer.from('forbidden')],
    ['too long', attempt({ name: 'x'.repeat(5000) })],
    [
      'another kind in its details',
      Buffer.from(String(attempt()).replace('"kind":"users"', '"kind":"pods"')),
    ],
    ['another code', Buffer.from(String(attempt()).replace('"code":403', '"code":500'))],
    ['another beginning', Buffer.from(String(attempt()).replace('"message":"', '"message":"admission: '))],
  ] as const)
    for (const name of ['stonegate', undefined])
      t.equal(reader(name).read(body, headers), undefined, `${what}, own name ${name}`);
  t.equal(reader('stonegate').read(attempt(), []), undefined, 'a request that impersonates no user');
});

const FORGED =
  'users "acme:alice" is forbidden: User "stonegate" cannot impersonate resource "users" in API group "" at the cluster scope';
/** Names that a user chose so as to imitate the refusal. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        FORGED,
        FORGED.slice(6),
        '"',
        '\\',
        '\\"',
        ' is forbidden: User "stonegate" cannot impersonate',
      ),
      fc.string({ maxLength: 8 }),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(''));

t.test('no name that a user chooses makes a refusal of theirs look like one of Stonegate’s', async () => {
  await fc.assert(
    fc.property(
      fc.constantFrom('users', 'groups', 'serviceaccounts', 'pods', 'uids'),
      fc.constantFrom('get', 'list', 'create', 'delete'),
      text,
      text,
      text,
      fc.constantFrom('stonegate', undefined),
      (resource, verb, name, namespace, tenant, ownName) => {
        const body = attempt({ userName: 'acme:alice', resource, verb, name, namespace, tenant });
        return reader(ownName).read(body, headers) === undefined;
      },
    ),
    { numRuns: 3_000 },
  );
});
