/** A response that holds less than the API server has says so, to the client and in the audit log. */
import t from 'tap';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { asFiltered } from '../../../../src/proxy/response/own-responses.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';

const TOKEN = [['Authorization', 'Bearer token']] as const;

t.test('a filtered response has a header, and its audit event an annotation', async (t) => {
  const response = asFiltered({
    status: 200,
    headers: [['Content-Type', 'text/plain']],
    body: Buffer.from('x'),
  });
  const exchange = fakeExchange({ target: '/api/v1/namespaces', headers: TOKEN });
  const pipeline = fakePipeline({ handlers: { namespaces: async () => response } });
  await serveRequest(exchange, pipeline);
  t.same(headerValue(exchange.response.headers, 'stonegate-filtered'), 'rbac');
  const complete = pipeline.events.find(({ stage }) => stage === 'complete');
  t.same(complete?.record.outcome?.annotations, { 'stonegate.dev/filtered': 'rbac' });
});

t.test('a filtered stream has both too', async (t) => {
  const answer = asFiltered({
    status: 200,
    headers: [],
    start(stream: { end(): void }) {
      stream.end();
      return () => {};
    },
  });
  const exchange = fakeExchange({ target: '/api/v1/namespaces?watch=1', headers: TOKEN });
  const pipeline = fakePipeline({ handlers: { namespaces: async () => answer } });
  await serveRequest(exchange, pipeline);
  t.same(headerValue(exchange.response.headers, 'stonegate-filtered'), 'rbac');
  const complete = pipeline.events.find(({ stage }) => stage === 'complete');
  t.same(complete?.record.outcome?.annotations, { 'stonegate.dev/filtered': 'rbac' });
});
