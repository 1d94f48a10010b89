import t from 'tap';
import { createReviewSubjectResolver } from '../../../src/pipeline/answer-self-review.ts';
import type { Outgoing } from '../../../src/pipeline/request-context.ts';
import { serveRequest } from '../../../src/pipeline/serve-request.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline, openMode } from '../../support/fake-pipeline.ts';

t.test(
  'with impersonation the review is about the impersonated user, and no own roles are looked up',
  async (t) => {
    const seen: Outgoing[] = [];
    const pipeline = fakePipeline({
      authenticators: [
        { name: 'fake', authenticate: async () => ({ ...alice, assignmentsOf: 'id-of-alice' }) },
      ],
      answerers: [
        {
          async answer(outgoing) {
            seen.push(outgoing);
            return { status: 200, headers: [], body: Buffer.alloc(0) };
          },
        },
      ],
    });
    const headers = [
      ['Authorization', 'Bearer secret-token'],
      ['Impersonate-User', 'bob'],
    ] as const;
    await serveRequest(fakeExchange({ headers }), pipeline);
    const [outgoing] = seen;
    if (outgoing === undefined) throw new Error('nothing was answered');
    const roles = { inScope: () => Promise.reject(new Error('roles were looked up')) };
    const resolveReviewSubject = createReviewSubjectResolver(roles, {
      mode: openMode,
      maxHeaderBytes: 1 << 20,
    });
    const about = await resolveReviewSubject(outgoing, 'web');
    t.equal(about.user.username, 'acme:bob');
  },
);
