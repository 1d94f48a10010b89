/** For how long a document of access rules counts, and whether it is complete. */
import t from 'tap';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import {
  createRulesDocuments,
  type RulesDocument,
  type RulesDocumentsOptions,
  selfAccessRules,
} from '../../../../src/access/rules/rules-document.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { type AccessIndexSite, accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { clusterRole, namespace, rbacUser, role, roleBinding, user } from '../../../support/rbac-objects.ts';

const alice = uniformSubject(rbacUser('alice'));
const { signal } = new AbortController();
const TEN_MINUTES = 10 * 60_000;

function siteOf(): AccessIndexSite {
  return accessIndexOf(
    namespace('a'),
    clusterRole('reader', [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }]),
    roleBinding('a', 'of-alice', 'ClusterRole/reader', [user('alice')]),
  );
}

/** @returns the document of what a user may list; alice's, whose credential does not expire, by default */
function documentsOf(site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) {
  const { access, index, clock } = site;
  const namedSets = [{ name: 'listable', verb: 'list', apiGroup: '', resource: 'pods', subresource: '' }];
  const documents = createRulesDocuments({
    access,
    cache: new RulesCache({ index, clock, namedSets }),
    verifier: { sampleOne() {} },
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
    verb: 'list',
    revision: String(site.index.revision),
    incomplete: false,
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

t.test('with tenants, the document names the user’s own', async (t) => {
  const subject = uniformSubject(rbacUser('alice', [], 'acme'));
  const { status } = await documentsOf(siteOf())(Number.POSITIVE_INFINITY, subject);
  t.equal(status.tenant, 'acme');
});

t.test('a document counts for ten minutes, and never longer than the credential', async (t) => {
  const site = siteOf();
  const documentOf = documentsOf(site);
  const now = site.clock.now();
  t.equal((await documentOf()).validUntil, now + TEN_MINUTES);
  t.equal((await documentOf(now + TEN_MINUTES + 1)).validUntil, now + TEN_MINUTES);
  const { validUntil, status } = await documentOf(now + 5_000);
  t.equal(validUntil, now + 5_000);
  t.equal(Date.parse(status.validUntil), Math.floor((now + 5_000) / 1_000) * 1_000);
});

t.test('before the index is complete there is no document', async (t) => {
  await t.rejects(documentsOf(unsyncedAccessIndex())(), {
    code: 'AccessIndexUnavailable',
    message: /have not been listed yet/,
  });
});

t.test('a document that may lack something says why', async (t) => {
  const reasonOf = async (site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) => {
    const { incomplete, incompleteReason } = (await documentsOf(site, options)()).status;
    t.ok(incomplete);
    return incompleteReason;
  };
  const stale = siteOf();
  stale.becomeStale();
  t.match(await reasonOf(stale), /has sent no news/);
  t.match(await reasonOf(siteOf(), { authorizers: [] }), /access\.authorizers/);
  t.match(await reasonOf(siteOf(), { authorizers: ['Node', 'RBAC', 'Webhook'] }), /Webhook/);
  const large = siteOf();
  large.put({ ...role('a', 'large', []), isTooLarge: true as const });
  t.match(await reasonOf(large), /leaves out roles and bindings/);
});

t.test('the digest is that of what a client acts on: not of the revision or the time', async (t) => {
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

t.test('what a document says is sampled for the comparison with the API server', async (t) => {
  const samples: unknown[] = [];
  const verifier: RulesDocumentsOptions['verifier'] = {
    sampleOne: (sample) => samples.push(sample((from) => from.at(-1))),
  };
  await documentsOf(siteOf(), { verifier })();
  t.match(samples, [{ question: { verb: 'list', resource: 'pods', namespace: 'a' }, allowed: true }]);
});
