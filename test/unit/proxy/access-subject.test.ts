import t from 'tap';
import { createAccessSubjects } from '../../../src/proxy/access-subject.ts';
import type { Outgoing } from '../../../src/proxy/request-context.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline, openMode } from '../../support/fake-pipeline.ts';

t.test(
  'with impersonation, the review is about the impersonated user, and no roles of the client are looked up',
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
