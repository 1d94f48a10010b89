import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createAdmissionWebhook } from '../../../../src/features/admission/admission-webhook.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import {
  admissionRequest,
  admissionReview,
  type ReviewerOptions,
  reviewerOf,
} from '../../../support/admission-reviews.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { recordedTelemetry } from '../../../support/recorded-telemetry.ts';

function webhook(options: ReviewerOptions = {}) {
  const clock = createFakeClock();
  const results: string[] = [];
  const logged: object[] = [];
  const log = (fields: object) => void logged.push(fields);
  const serve = createAdmissionWebhook({
    review: reviewerOf(options),
    others: [],
    limits: { enter: (_source, work) => work({ onSize() {}, inTurn: async (judge) => judge() }) },
    clock,
    random: systemRandom,
    logger: { ...silentLogger, info: log, debug: log },
    telemetry: recordedTelemetry(results),
  });
  const ask = async (body: string, changes: object = {}) => {
    const exchange = fakeExchange({ method: 'POST', target: '/admission?timeout=5s', body, ...changes });
    await serve(exchange);
    return exchange.response;
  };
  return { ask, results, logged, clock };
}

const object = (spec: object) => ({ metadata: { name: 'p', tenant: 'acme' }, spec });
const secret = { containers: [{ name: 'c', env: [{ name: 'PASSWORD', value: 'hunter2' }] }], nodeName: 'n1' };

for (const version of ['v1', 'v1beta1'])
  t.test(`a review of ${version} is answered in that version, with its uid`, async (t) => {
    const { ask, results, logged } = webhook();
    const review = (spec: object) =>
      JSON.stringify(admissionReview(admissionRequest({ object: object(spec) }), version));
    const { uid } = admissionRequest();
    t.strictSame((await ask(review({ containers: [] }))).json(), {
      apiVersion: `admission.k8s.io/${version}`,
      kind: 'AdmissionReview',
      response: { uid, allowed: true },
    });
    t.match(
      (await ask(review(secret))).json(),
      parse(`
      response:
        uid: ${uid}
        allowed: false
        status:
          code: 403
          reason: Forbidden
          message: 'spec.nodeName: tenants may not choose a node'
          details: {causes: [{field: spec.nodeName}]}`),
    );
    t.same(results, ['allowed', 'denied']);
    t.match(logged[1], { user: 'acme:alice', resource: 'pods', tenant: 'acme', rules: ['nodeName'] });
    t.notMatch(JSON.stringify(logged), /hunter2/);
  });

t.test('a body that is not a review is an error, never a verdict', async (t) => {
  const { ask, results } = webhook();
  const good: { request: object } = JSON.parse(
    JSON.stringify(admissionReview(admissionRequest({ object: {} }))),
  );
  const changed = (request: object) => JSON.stringify({ ...good, request: { ...good.request, ...request } });
  const wrong = [
    '',
    '[]',
    JSON.stringify({ ...good, apiVersion: 'admission.k8s.io/v2' }),
    changed({ uid: 'a b' }),
    changed({ object: null }),
    changed({ userInfo: { groups: 'g' } }),
    '{"kind":"AdmissionReview","kind":"AdmissionReview"}',
  ];
  for (const body of wrong) await t.rejects(ask(body), { code: 'BodyMalformed' }, body.slice(0, 60));
  t.same(new Set(results), new Set(['error']));
});

t.test('the response to very many violations is short', async (t) => {
  const { ask } = webhook();
  const names = Array.from({ length: 2_400 }, (_, at) => [`label-${at}-${'x'.repeat(20)}`, 'v']);
  const spec = { nodeSelector: Object.fromEntries(names) };
  const response = await ask(JSON.stringify(admissionReview(admissionRequest({ object: object(spec) }))));
  const text = JSON.stringify(response.json());
  t.ok(text.length < 8_000);
  t.match(text, /and 2390 more/);
});

t.test(
  'a request is refused if its rights cannot be reviewed within the time that API servers wait',
  async (t) => {
    const asked = Promise.withResolvers<void>();
    const { ask, results, logged, clock } = webhook({
      holds: (_, signal) =>
        new Promise((_resolve, reject) => {
          asked.resolve();
          signal.addEventListener('abort', () =>
            reject(new StatusError('UpstreamUnavailable', 'it is gone')),
          );
        }),
    });
    const policy = parse(`
      metadata: {name: p, tenant: acme}
      spec: {namespaces: ['*'], rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}`);
    const kind = { group: 'tenancy.stonegate.dev', resource: 'crosstenantpolicies', namespace: '' };
    const response = ask(JSON.stringify(admissionReview(admissionRequest({ ...kind, object: policy }))));
    await asked.promise;
    clock.advance(4_000);
    t.match((await response).json(), {
      response: { allowed: false, status: { code: 503, message: /could not be reviewed: it is gone$/ } },
    });
    t.same(results, ['error']);
    t.match(logged, [{ user: 'acme:alice', reason: 'it is gone' }]);
  },
);

t.test('while one request waits for the API server, others are judged', async (t) => {
  const held = Promise.withResolvers<boolean>();
  const { ask } = webhook({ holds: () => held.promise });
  const annotations = { 'multi-tenancy.k8s.io/published': 'all' };
  const published = { metadata: { name: 'c', tenant: 'system', annotations } };
  const user = { username: 'system:stonegate:dora', groups: [] };
  const bodyOf = (changes: object) => JSON.stringify(admissionReview(admissionRequest(changes)));
  const waiting = ask(bodyOf({ resource: 'configmaps', object: published, user }));
  t.match((await ask(bodyOf({ object: object({}) }))).json(), { response: { allowed: true } });
  held.resolve(true);
  t.match((await waiting).json(), { response: { allowed: true } });
});
