/** For how long a document of access rules counts, and whether it is complete. */
import t from 'tap';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import {
  createRulesDocuments,
  type RulesDocumentsOptions,
  selfAccessRules,
} from '../../../../src/access/rules/rules-document.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { type AccessIndexSite, accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { clusterRole, namespace, rbacUser, role, roleBinding, user } from '../../../support/rbac-objects.ts';

const alice = uniformSubject(rbacUser('alice'));
const LIST = { verb: 'list' };
const NEVER = Number.POSITIVE_INFINITY;
const TEN_MINUTES = 10 * 60_000;

function siteOf(): AccessIndexSite {
  return accessIndexOf(
    namespace('a'),
    clusterRole('reader', [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }]),
    roleBinding('a', 'of-alice', 'ClusterRole/reader', [user('alice')]),
  );
}

function documentsOf(site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) {
  const { access, index, clock } = site;
  const namedSets = [{ name: 'listable', verb: 'list', apiGroup: '', resource: 'pods', subresource: '' }];
  return createRulesDocuments({
    access,
    cache: new RulesCache({ index, clock, namedSets }),
    verifier: { isSuspended: () => false, sampleOne() {} },
    authorizers: ['Node', 'RBAC'],
    clock,
    ...options,
  });
}

t.test('a document has the rules, the named sets and the revision of the index', async (t) => {
  const site = siteOf();
  const document = documentsOf(site).documentOf(alice, LIST, NEVER);
  t.match(document.status, {
    verb: 'list',
    revision: String(site.index.revision),
    incomplete: false,
    incompleteReason: undefined,
    namespaces: [{ names: ['a'], rules: [{ resources: ['pods'] }] }],
    sets: { listable: ['a'] },
  });
  t.notOk('tenant' in document.status, 'the API server has no tenants');
  t.match(selfAccessRules(document), {
    kind: 'SelfAccessRules',
    metadata: { resourceVersion: String(site.index.revision) },
    status: document.status,
  });
});

t.test('with tenants, the document names the user’s own', async (t) => {
  const subject = uniformSubject(rbacUser('alice', [], 'acme'));
  t.equal(documentsOf(siteOf()).documentOf(subject, LIST, NEVER).status.tenant, 'acme');
});

t.test('a document counts for ten minutes, and never longer than the credential', async (t) => {
  const site = siteOf();
  const documents = documentsOf(site);
  const now = site.clock.now();
  const validUntil = (expiresAt: number) => documents.documentOf(alice, LIST, expiresAt).validUntil;
  t.equal(validUntil(NEVER), now + TEN_MINUTES);
  t.equal(validUntil(now + TEN_MINUTES + 1), now + TEN_MINUTES);
  t.equal(validUntil(now + 5_000), now + 5_000);
  const { status } = documents.documentOf(alice, LIST, now + 5_000);
  t.equal(Date.parse(status.validUntil), Math.floor((now + 5_000) / 1_000) * 1_000);
});

t.test('before the index is complete there is no document', async (t) => {
  t.throws(() => documentsOf(unsyncedAccessIndex()).documentOf(alice, LIST, NEVER), {
    code: 'AccessIndexUnavailable',
    message: /have not been listed yet/,
  });
});

t.test('a document that may lack something says why', async (t) => {
  const reasonOf = (site: AccessIndexSite, options: Partial<RulesDocumentsOptions> = {}) => {
    const { incomplete, incompleteReason } = documentsOf(site, options).documentOf(alice, LIST, NEVER).status;
    t.equal(incomplete, incompleteReason !== undefined);
    return incompleteReason;
  };
  const stale = siteOf();
  stale.becomeStale();
  t.match(reasonOf(stale), /has sent no news/);
  t.match(reasonOf(siteOf(), { authorizers: [] }), /access\.authorizers/);
  t.match(reasonOf(siteOf(), { authorizers: ['Node', 'RBAC', 'Webhook'] }), /Webhook/);
  const suspended = { isSuspended: () => true, sampleOne() {} };
  t.match(reasonOf(siteOf(), { verifier: suspended }), /disagree about the user/);
  const many = Array.from({ length: 120 }, (_, at) => {
    const resources = Array.from({ length: 500 }, (_unused, kind) => `kind${kind}`);
    return [
      namespace(`n${at}`),
      role(`n${at}`, 'own', [{ verbs: ['list'], apiGroups: [`g${at}`], resources }]),
      roleBinding(`n${at}`, 'own', 'Role/own', [user('alice')]),
    ];
  });
  t.match(reasonOf(accessIndexOf(...many.flat())), /left out/);
});

t.test('the digest is that of what a client acts on: not of the revision or the time', async (t) => {
  const site = siteOf();
  const documents = documentsOf(site);
  const digest = () => documents.documentOf(alice, LIST, NEVER).digest;
  const before = digest();
  site.clock.advance(1_000);
  site.put(namespace('b'));
  t.equal(digest(), before);
  site.put(roleBinding('b', 'of-alice', 'ClusterRole/reader', [user('alice')]));
  const after = digest();
  t.not(after, before);
  site.becomeStale();
  t.not(digest(), after, 'it is incomplete now');
});

t.test('what a document says is sampled for the comparison with the API server', async (t) => {
  let sampled = 0;
  const verifier = {
    isSuspended: () => false,
    sampleOne(sample: (draw: <T>(from: readonly T[]) => T | undefined) => unknown) {
      sampled += 1;
      t.match(
        sample((from) => from.at(-1)),
        { question: { verb: 'list', resource: 'pods', namespace: 'a' }, allowed: true },
      );
    },
  };
  documentsOf(siteOf(), { verifier }).documentOf(alice, LIST, NEVER);
  t.equal(sampled, 1);
});
