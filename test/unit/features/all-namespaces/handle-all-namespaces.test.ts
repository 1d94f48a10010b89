/** Lists of all namespaces by a user who may list in some of them. */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { ByteBudget, TooLarge } from '../../../../src/limits/byte-budget.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { allNamespacesSite, podReader } from '../../../support/all-namespaces.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity, upstreamIdentity } from '../../../support/identities.ts';
import { objectNames } from '../../../support/namespaced-lists.ts';
import { rule } from '../../../support/policy-rule.ts';
import { clusterRole, namespace } from '../../../support/rbac-objects.ts';
import { linesOf } from '../../../support/rows.ts';
import { tampered } from '../../../support/tampered.ts';

const CONTENTS = new Map<string, string[]>(Object.entries(parse('{a: [p1, p2, p3], b: [q1], c: [r1, r2]}')));
const inAB = [...podReader(['a', 'b']), namespace('c')];

const namesOf = (response: UpstreamResponse | undefined) => objectNames(response?.body);

/** The token for the next page. */
const moreOf = (response: UpstreamResponse | undefined): string =>
  JSON.parse(String(response?.body)).metadata.continue;

t.test('a watch over WebSocket that would be filtered is refused with 503', async (t) => {
  const plain = { code: 'UpgradeUnavailable', http: 503, message: /plain GET/ };
  const upgraded = (site: ReturnType<typeof allNamespacesSite>) =>
    site.handle({
      ...site.outgoing('/api/v1/pods?watch=1'),
      exchange: fakeExchange({
        upgrade: { protocol: 'websocket', socket: new PassThrough(), head: Buffer.alloc(0) },
      }),
    });
  const site = allNamespacesSite({ objects: inAB });
  await t.rejects(upgraded(site), plain);
  const others = allNamespacesSite({ objects: inAB, changes: { othersMayAllow: true } });
  await t.rejects(upgraded(others), plain);
  others.reviewed.allowed = true;
  t.equal(await upgraded(others), undefined, 'another authorizer allows it: a tunnel');
  t.equal(await upgraded(allNamespacesSite({ objects: [namespace('a')] })), undefined, 'it is a 403');
});

t.test(
  'D025 a continue token of another user, path or selector, and an altered one, are refused with 400',
  async (t) => {
    const readsBoth = clusterRole('pod-reader', [rule('list', 'pods,widgets')]);
    const alice = allNamespacesSite({ objects: [...podReader(['a', 'b']), readsBoth], contents: CONTENTS });
    const more = moreOf(await alice.get('/api/v1/pods?limit=2'));
    const bob = allNamespacesSite({
      objects: podReader(['a', 'b'], '', 'acme:bob'),
      contents: CONTENTS,
      identity: keystoneIdentity('bob'),
    });
    const malformed = { code: 'RequestMalformed', http: 400 };
    await t.rejects(bob.get(`/api/v1/pods?limit=2&continue=${more}`), malformed);
    t.same(bob.asked, []);
    const before = alice.asked.length;
    for (const request of linesOf(`
      widgets?limit=2&continue=${more}
      pods?limit=2&continue=${more}&labelSelector=a%3Db
      pods?limit=2&continue=${tampered(more)}
      pods?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NX0
      pods?limit=2&continue=${more}&resourceVersion=5`))
      await t.rejects(alice.get(`/api/v1/${request}`), malformed, request);
    t.equal(alice.asked.length, before, 'nothing is requested');
  },
);

t.test(
  'D026 a revision that the API server no longer has causes a 410; a first page is tried twice',
  async (t) => {
    const site = allNamespacesSite({ objects: podReader(['a', 'b']), contents: CONTENTS });
    const more = moreOf(await site.get('/api/v1/pods?limit=2'));
    const expired = { code: 'ResourceExpired', http: 410 };
    site.faults.set('a', { status: 410 });
    site.faults.set('b', { status: 410 });
    const before = site.asked.length;
    await t.rejects(site.get(`/api/v1/pods?limit=2&continue=${more}`), expired);
    t.equal(site.asked.length, before + 1, 'a later page is not tried again');
    site.faults.delete('a');
    await t.rejects(site.get('/api/v1/pods'), expired);
    t.equal(site.asked.length, before + 5, 'a and b, twice');
  },
);

t.test(
  'D028 a list of more namespaces than the limit is refused with a message that says what to do',
  async (t) => {
    const names = Array.from({ length: 300 }, (_, at) => `ns-${at}`);
    const site = allNamespacesSite({ objects: podReader(names) });
    await t.rejects(site.get(), {
      code: 'TooManyNamespaces',
      http: 403,
      message:
        'pods is forbidden: User "acme:alice" can list resource "pods" in 300 namespaces, but one request is sent to 50 at most: request one namespace (-n NAMESPACE)',
    });
    t.same(site.asked, []);
  },
);

t.test(
  'a deleted namespace counts as empty; a failure, or a response that is not a list, fails the list',
  async (t) => {
    const site = allNamespacesSite({ objects: podReader(['a', 'b']), contents: CONTENTS });
    site.faults.set('b', { status: 404 });
    t.same(namesOf(await site.get()), ['a/p1', 'a/p2', 'a/p3']);
    site.faults.set('b', { status: 500, body: '{"kind":"Status","code":500}' });
    const failed = await site.get();
    t.match([failed?.status, String(failed?.body)], [500, '{"kind":"Status","code":500}']);
    t.equal(headerValue(failed?.headers ?? [], 'stonegate-filtered'), undefined);
    site.faults.set('b', new StatusError('UpstreamTimeout', 'too slow'));
    await t.rejects(site.get(), { code: 'UpstreamTimeout' });
    for (const body of linesOf(`
      garbage
      {"kind":"PodList","items":[
      {"rows":[],"metadata":{"resourceVersion":"5"}}`)) {
      site.faults.set('b', { status: 200, body });
      await t.rejects(site.get(), { code: 'UpstreamUnavailable' }, body);
    }
  },
);

t.test('a list that is too large for memory is refused with advice to request pages', async (t) => {
  const tooLarge = { code: 'ListTooLarge', http: 413, message: /request it in pages/ };
  const site = allNamespacesSite({ objects: podReader(['a', 'b']), contents: CONTENTS });
  const cause = new TooLarge('the response is over 16 MB');
  site.faults.set('b', new StatusError('UpstreamUnavailable', 'too large', { cause }));
  await t.rejects(site.get(), tooLarge);
  const body = `{"items":["${'x'.repeat(33 * 1024 * 1024)}"],"metadata":{"resourceVersion":"5"}}`;
  site.faults.set('b', { status: 200, body });
  await t.rejects(site.get(), tooLarge);
  const memory = new ByteBudget({ total: 10_000, perKey: 10_000 });
  const objects = podReader(['a', 'b']);
  const response = await allNamespacesSite({ objects, contents: CONTENTS, changes: { memory } }).get();
  t.ok(memory.reserved > 0, 'a list occupies memory until the client has received it');
  response?.release?.();
  t.equal(memory.reserved, 0);
});

t.test('in arktos mode the tenant’s own namespaces are listed, by their full paths', async (t) => {
  const mode = createArktosMode({ systemTenant: 'system', domains: {} });
  const site = allNamespacesSite({
    objects: [...podReader(['a', 'b'], 'acme'), ...podReader(['a', 'z'], 'globex', 'acme:alice')],
    contents: CONTENTS,
    mode,
  });
  const expected = ['a', 'b'].map((name) => `/api/v1/tenants/acme/namespaces/${name}/pods`);
  for (const target of ['/api/v1/pods', '/api/v1/tenants/acme/pods']) {
    await site.get(target);
    t.same(
      site.asked.splice(0).map((asked) => asked.target),
      expected,
    );
  }
});

t.test('a client’s own token is sent for each namespace, without impersonation', async (t) => {
  const name = 'system:serviceaccount:a:robot';
  for (const mode of [createArktosMode({ systemTenant: 'system', domains: {} }), undefined]) {
    const site = allNamespacesSite({
      objects: podReader(['a', 'b'], mode === undefined ? '' : 'acme', name),
      identity: upstreamIdentity(name),
      ...(mode && { mode }),
    });
    await site.get();
    t.same(
      site.asked.map(({ sender }) => sender),
      Array(2).fill({ kind: 'client', token: 'client-token' }),
    );
    t.notOk(site.asked.some(({ headers }) => headers.some(([field]) => /impersonate/i.test(field))));
  }
});
