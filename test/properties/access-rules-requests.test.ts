/** Any request for access rules is either parsed or refused with a 4xx that repeats no part of a token. */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { readRulesRequest, readRulesReview } from '../../src/features/access-rules/rules-request.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { fakeExchange } from '../support/fake-exchange.ts';

const LIMITS = { bodyBytes: 10_000, bodyTimeout: 10_000 };
const names = fc.constantFrom(
  'verb',
  'apiGroup',
  'resource',
  'namespace',
  'token',
  'user',
  'groups',
  'uid',
  'extra',
  'x',
);
const SECRET = 'the-token-0123456789';
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(SECRET), fc.constant([SECRET]));

t.test('any query is parsed or refused as malformed', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.string()), { maxLength: 5 }), fc.string(), (pairs, rest) => {
      const query = `${pairs.map(([name, text]) => `${name}=${text}`).join('&')}${rest}`;
      try {
        const selection = readRulesRequest(query);
        if (Object.entries(selection).some(([name, text]) => text === '' && name !== 'apiGroup'))
          throw new Error(`an empty selection: ${query}`);
      } catch (error) {
        if (!(error instanceof StatusError) || error.code !== 'RequestMalformed') throw error;
      }
    }),
  );
});

t.test('any body is parsed or refused without repeating the token', async () => {
  const spec = fc.oneof(fc.dictionary(names, value), fc.jsonValue());
  const body = fc.oneof(
    spec.map((given) =>
      JSON.stringify({ kind: 'AccessRulesReview', apiVersion: 'stonegate.dev/v1alpha1', spec: given }),
    ),
    fc.json(),
    fc.string().map((text) => `${SECRET}${text}`),
  );
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const exchange = fakeExchange({ method: 'POST', body: text });
      try {
        const { subject } = await readRulesReview(exchange, { limits: LIMITS, clock: systemClock });
        if ('token' in subject ? subject.token === '' : subject.username === '')
          throw new Error('the parsed review has no subject');
      } catch (error) {
        if (!(error instanceof StatusError) || error.http < 400 || error.http > 499) throw error;
        if (`${error.message} ${String(error.cause)}`.includes(SECRET))
          throw new Error('the refusal repeats the token');
      }
    }),
  );
});
