import t from 'tap';
import type { Explain } from '../../../../src/features/explain/explain-request.ts';
import { createExplanationHandler } from '../../../../src/features/explain/handle-explanation.ts';
import type { Explanation, ExplanationSpec } from '../../../../src/features/explain/stonegate-v1alpha1.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';
import { ownAPIHandler } from '../../../support/own-api.ts';

const BEARER = ['Authorization', 'Bearer secret-token'] as const;
const EXPLANATIONS = '/apis/stonegate.dev/v1alpha1/explanations';
const EXPLANATION: Explanation = {
  kind: 'Explanation',
  apiVersion: 'stonegate.dev/v1alpha1',
  metadata: {},
  spec: { request: { method: 'GET', path: '/x' } },
  status: { outcome: 'forwarded', stages: [], credential: 'none' },
};

async function post(body: string, headers: readonly (readonly [string, string])[] = []) {
  const asked: { spec: ExplanationSpec; address: string | undefined }[] = [];
  const explain: Explain = async (spec, { peerAddress: address }) => {
    asked.push({ spec, address });
    return EXPLANATION;
  };
  const limits = { bodyBytes: 1_000, bodyTimeout: 10_000 };
  const handler = createExplanationHandler(explain, { limits, clock: systemClock });
  const exchange = fakeExchange({
    method: 'POST',
    target: EXPLANATIONS,
    headers: [BEARER, ...headers],
    body,
  });
  await serveRequest(exchange, fakePipeline({ handlers: ownAPIHandler({ explanations: handler }) }));
  return { asked, response: exchange.response };
}

const question = (spec: unknown) =>
  JSON.stringify({ kind: 'Explanation', apiVersion: 'stonegate.dev/v1alpha1', spec });

t.test('an explanation needs no token: it also explains a request without one', async (t) => {
  const { asked } = await post(question({ request: { method: 'GET', path: '/x' } }));
  t.notOk('token' in (asked[0]?.spec ?? {}));
});

const request = { method: 'GET', path: '/x' };
const REFUSED = [
  '',
  'secret{',
  '{}',
  JSON.stringify({ kind: 'Explanation', apiVersion: 'v1', spec: { request } }),
  question({ request: { method: 'GET' } }),
  question({ request, token: ['secret'] }),
  question({ request: { ...request, headers: [['A', 'secret', 'c']] } }),
];
t.test('a body that is no explanation is refused, and the refusal repeats nothing of it', async (t) => {
  for (const body of REFUSED) {
    const { asked, response } = await post(body);
    t.same(asked, []);
    t.match(response.json(), { code: 400, details: { causes: [{ message: 'BodyMalformed' }] } }, body);
    t.notMatch(response.text, /secret/);
  }
});

t.test('a body of another media type, or one that is too large, is refused', async (t) => {
  const typed = async (type: string) =>
    (await post(question({ request }), [['Content-Type', type]])).response.status;
  t.equal(await typed('text/yaml'), 415);
  t.equal(await typed('Application/JSON; charset=utf-8'), 201);
  t.equal((await post(question({ request, token: 'x'.repeat(1_000) }))).response.status, 413);
});
