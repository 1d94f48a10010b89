/** How long a document of access rules is valid, and whether it is complete. */
import t from 'tap';
import type { RulesSelection } from '../../../../src/features/access-rules/access-rules-v1alpha1.ts';
import {
  createRulesDocuments,
  type RulesDocument,
  type RulesDocumentsOptions,
  selfAccessRules,
} from '../../../../src/features/access-rules/rules-document.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { type AccessIndexSite, accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { namespace, rbacObjects, rbacUser, role, roleBinding, user } from '../../../support/rbac-objects.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const alice = uniformSubject(rbacUser('alice'));
const { signal } = new AbortController();
const TEN_MINUTES = 10 * 60_000;

function siteOf(): AccessIndexSite {
  return accessIndexOf(
    ...rbacObjects(`
    Namespace a
    ClusterRole reader: list pods
    RoleBinding a/of-alice: ClusterRole/reader to User alice`),
  );
}

/** @returns a function for the document of what a user may list: alice, with no expiry, by default */
function documentsOf(site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) {
  const { access, clock } = site;
  const namedSets = [{ name: 'listable', verb: 'list', apiGroup: '', resource: 'pods', subresource: '' }];
  const documents = createRulesDocuments({
    access,
    namedSets,
    authorizers: ['Node', 'RBAC'],
    clock,
    ...options,
  });
  return (expiresAt = Number.POSITIVE_INFINITY, subject = alice): Promise<RulesDocument> =>
    documents.documentOf({ subject, selection: { verb: 'list' }, expiresAt, signal });
}

t.test('a document has the rules, the named sets and the revision of the index', async (t) => {
  const site = siteOf();
  const document = await documentsOf(site)();
  t.match(document.status, {
    ...{ verb: 'list', revision: String(site.index.revision), incomplete: false },
    namespaces: [{ names: ['a'], rules: [{ resources: ['pods'] }] }],
    sets: { listable: ['a'] },
  });
  t.notOk('incompleteReason' in document.status);
  t.notOk('tenant' in document.status, 'the API server has no tenants');
  t.match(selfAccessRules(document), {
    kind: 'SelfAccessRules',
    metadata: { resourceVersion: String(site.index.revision) },
    status: document.status,
  });
});

t.test('a document is valid for ten minutes, and never longer than the credential', async (t) => {
  const site = siteOf();
  const documentOf = documentsOf(site);
  const now = site.clock.now();
  t.equal((await documentOf()).validUntil, now + TEN_MINUTES);
  t.equal((await documentOf(now + TEN_MINUTES + 1)).validUntil, now + TEN_MINUTES);
  const { validUntil, status } = await documentOf(now + 5_000);
  t.equal(validUntil, now + 5_000);
  t.equal(Date.parse(status.validUntil), Math.floor((now + 5_000) / 1_000) * 1_000);
});

t.test('before the index is complete, there is no document', async (t) => {
  await t.rejects(documentsOf(unsyncedAccessIndex())(), {
    code: 'AccessIndexUnavailable',
    message: /have not been listed yet/,
  });
});

t.test('a document that may be incomplete says why', async (t) => {
  const reasonOf = async (site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) => {
    const { incomplete, incompleteReason } = (await documentsOf(site, options)()).status;
    t.ok(incomplete);
    return incompleteReason;
  };
  const stale = siteOf();
  stale.becomeStale();
  t.match(await reasonOf(stale), /has sent no news/);
  t.match(await reasonOf(siteOf(), { authorizers: ['Node', 'RBAC', 'Webhook'] }), /Webhook/);
  const left = siteOf();
  left.put({ ...role('a', 'large', []), isTooLarge: true as const });
  t.match(await reasonOf(left), /leaves out roles and bindings/);
});

t.test('rules and named sets share the size limit of a document', async (t) => {
  const names = Array.from({ length: 10_000 }, (_, at) => `${at}`.padEnd(63, '-x'));
  const places = names.map(
    (name) => `Namespace ${name}\nRoleBinding ${name}/r: ClusterRole/reader to User alice`,
  );
  const site = accessIndexOf(...rbacObjects(['ClusterRole reader: list pods', ...places].join('\n')));
  const document = await documentsOf(site)();
  t.match(document.status, { incomplete: true, incompleteReason: /more than one document holds/ });
  t.equal(document.status.namespaces[0]?.names.length, names.length);
  t.ok(Buffer.byteLength(JSON.stringify(selfAccessRules(document))) <= 1024 * 1024);
});

t.test('rules are cached for one user and one selection, until a role or binding changes', async (t) => {
  const site = siteOf();
  const documents = createRulesDocuments({ ...site, authorizers: ['RBAC'], namedSets: [] });
  const namesFor = async (subject = alice, selection: RulesSelection = { verb: 'list' }) => {
    const asked = { subject, selection, expiresAt: Number.POSITIVE_INFINITY, signal };
    return (await documents.documentOf(asked)).status.namespaces.flatMap(({ names }) => names);
  };
  const bob = rbacUser('bob');
  const inOne = { ...alice, namespaces: new Map([['a', bob]]) };
  for (let time = 0; time < 2; time += 1) {
    t.same(await namesFor(), ['a']);
    t.same(await namesFor(uniformSubject(bob)), []);
    t.same(await namesFor(inOne), [], 'another user in one namespace');
    for (const more of [{ verb: 'delete' }, { apiGroup: 'apps' }, { namespace: 'b' }])
      t.same(await namesFor(alice, { verb: 'list', ...more }), []);
  }
  const added = site.put(roleBinding('b', 'of-alice', 'ClusterRole/reader', [user('alice')]));
  t.same(await namesFor(), ['a', 'b']);
  site.delete(added);
  t.same(await namesFor(), ['a']);
});

t.test('the digest covers what a client acts on, not the revision or the time', async (t) => {
  const site = siteOf();
  const documentOf = documentsOf(site);
  const { digest: before } = await documentOf();
  site.clock.advance(1_000);
  site.put(namespace('b'));
  t.equal((await documentOf()).digest, before);
  site.put(roleBinding('b', 'of-alice', 'ClusterRole/reader', [user('alice')]));
  const { digest: after } = await documentOf();
  t.not(after, before);
  site.becomeStale();
  t.not((await documentOf()).digest, after, 'it is incomplete now');
});

t.test(
  'tenants take turns, so that an evaluation for one does not wait behind many for another',
  async (t) => {
    const site = siteOf();
    const namedSets: RulesDocumentsOptions['namedSets'] = [];
    const documents = createRulesDocuments({ ...site, authorizers: ['RBAC'], namedSets });
    const ended: string[] = [];
    const ask = async (home: string, verb: string) => {
      const subject = uniformSubject({ ...rbacUser('alice'), home });
      const selection = { verb };
      await documents.documentOf({ subject, selection, expiresAt: Number.POSITIVE_INFINITY, signal });
      ended.push(home);
    };
    const many = Array.from({ length: 20 }, (_, at) => ask('large', `verb${at}`));
    await Promise.all([...many, ask('small', 'list')]);
    t.ok(ended.indexOf('small') <= 2, ended.join());
    const tooMany = Array.from({ length: 70 }, (_, at) => ask('large', `other${at}`));
    const results = await Promise.allSettled(tooMany);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    t.equal(refused.length, 5);
    t.match(refused[0], { code: 'TenantRateExceeded' });
  },
);

t.test(
  'if a wildcard stands for more than an access token allows, the document says that it is incomplete',
  async (t) => {
    const site = accessIndexOf(
      ...rbacObjects('Namespace a\nRole a/admin: * * *\nRoleBinding a/b: Role/admin to User alice'),
    );
    const subjectWith = (scopes: string) =>
      uniformSubject({ ...rbacUser('alice'), scope: tokenScope(scopes) });
    const documentOf = documentsOf(site, { authorizers: ['RBAC'] });
    const limited = await documentOf(undefined, subjectWith('read'));
    t.match(limited.status, { incomplete: true, incompleteReason: /not allow all that \* matches/ });
    const whole = await documentOf(undefined, subjectWith('read +secrets +exec +tokens'));
    t.match(whole.status, { incomplete: false, namespaces: [{ rules: [{ resources: ['*'] }] }] });
  },
);
