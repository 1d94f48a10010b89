import t from 'tap';
import type { RoleLookup } from '../../../src/identity/keystone/role-lookup.ts';
import { createAccessSubjects } from '../../../src/proxy/access-subject.ts';
import type { Outgoing } from '../../../src/proxy/request-context.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline, openMode } from '../../support/fake-pipeline.ts';
import { outgoingOf } from '../../support/outgoing.ts';
import { tokenScope } from '../../support/token-scope.ts';

t.test(
  'with impersonation the review is about the impersonated user, and no own roles are looked up',
  async (t) => {
    const seen: Outgoing[] = [];
    const pipeline = fakePipeline({
      authenticators: [
        { name: 'fake', authenticate: async () => ({ ...alice, assignmentsOf: 'id-of-alice' }) },
      ],
      handlers: {
        async forward(outgoing) {
          seen.push(outgoing);
          return { status: 200, headers: [], body: Buffer.alloc(0) };
        },
      },
    });
    const headers = [
      ['Authorization', 'Bearer secret-token'],
      ['Impersonate-User', 'bob'],
    ] as const;
    await serveRequest(fakeExchange({ headers }), pipeline);
    const [outgoing] = seen;
    if (outgoing === undefined) throw new Error('nothing was answered');
    const lookedUp = () => Promise.reject(new Error('roles were looked up'));
    const subjects = createAccessSubjects({
      ...pipeline,
      mode: openMode,
      roles: { inScope: lookedUp, projectNamespaces: lookedUp },
    });
    const about = await subjects.requestAs(outgoing, 'web');
    t.equal(about.user.username, 'acme:bob');
    const { cluster, other, namespaces } = await subjects.subjectOf(outgoing);
    t.match([cluster, other], [{ username: 'acme:bob' }, { username: 'acme:bob' }]);
    t.equal(namespaces.size, 0);
  },
);

t.test('a user whose roles are looked up has the groups of each project in its namespace', async (t) => {
  const seen: Outgoing[] = [];
  const inScope: RoleLookup['inScope'] = async (identity, { namespace, cluster }) => ({
    ...identity,
    groups: [cluster ? 'everywhere' : namespace === 'web' ? 'in-web' : 'domain'],
  });
  const pipeline = fakePipeline({
    mode: {
      ...openMode,
      userOf: ({ groups }) => ({ username: 'acme:alice', uid: '', groups, extra: {} }),
      isClusterWide: (info) => info.isResourceRequest && info.namespace === '',
    },
    authenticators: [
      { name: 'fake', authenticate: async () => ({ ...alice, assignmentsOf: 'id-of-alice' }) },
    ],
    roles: { inScope, projectNamespaces: async () => ['web'] },
    handlers: {
      async 'all-namespaces'(outgoing) {
        seen.push(outgoing);
        return { status: 200, headers: [], body: Buffer.alloc(0) };
      },
    },
  });
  const headers = [['Authorization', 'Bearer secret-token']] as const;
  await serveRequest(fakeExchange({ headers, target: '/api/v1/pods' }), pipeline);
  const [outgoing] = seen;
  if (outgoing === undefined) throw new Error('nothing was answered');
  const subjects = createAccessSubjects(pipeline);
  const { cluster, other, namespaces } = await subjects.subjectOf(outgoing);
  t.match(cluster.groups, ['everywhere']);
  t.match(other.groups, ['domain']);
  t.match([...namespaces], [['web', { groups: ['in-web'] }]]);
  const inWeb = await subjects.requestAs(outgoing, 'web');
  t.match(
    inWeb.upstreamHeaders.filter(([name]) => name === 'Impersonate-Group'),
    [['Impersonate-Group', 'in-web']],
  );
  t.match(outgoing.user.groups, ['everywhere'], 'the request itself keeps its user');
});

t.test('what an access token is limited to is part of the subject, in every namespace', async (t) => {
  const accessToken = tokenScope('namespace/web/read');
  const outgoing = outgoingOf(openMode, { ...alice, accessToken }, {});
  const { cluster, other } = await createAccessSubjects(fakePipeline()).subjectOf(outgoing);
  t.same([cluster.scope, other.scope], [accessToken, accessToken]);
  const acting = { ...outgoing, impersonator: outgoing.user };
  t.equal((await createAccessSubjects(fakePipeline()).subjectOf(acting)).cluster.scope, accessToken);
});
