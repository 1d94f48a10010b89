/** What is recorded of a token besides its user: the credential id; if refused, the issuer and name. */
import t from 'tap';
import { createJWTAuthenticator } from '../../../../src/identity/jwt/jwt.ts';
import type { JSONObject } from '../../../../src/lib/json-object.ts';
import { createAuditLog } from '../../../../src/observability/audit-log.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import type { AuditEvent } from '../../../support/audit-v1.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';
import { directKeys, ISSUER, jwtConfiguration } from '../../../support/oidc/jwt-configuration.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';

const clock = createFakeClock(1_800_000_000_000);
const issuer = await startSigningIssuer({ url: ISSUER });
t.teardown(() => issuer.down());
const configuration = jwtConfiguration({
  claimMappings: {
    username: { claim: 'sub', prefix: '' },
    groups: { claim: 'groups', prefix: '' },
    extra: [],
  },
});
const authenticator = createJWTAuthenticator({
  issuers: [{ configuration, keys: directKeys(issuer) }],
  clock,
});

/** Sends a request with a token of these claims; returns status, last audit event and forwarded headers. */
async function request(claims: JSONObject) {
  const events: AuditEvent[] = [];
  const sink = { write: (...parts: readonly string[]) => events.push(JSON.parse(parts.join(''))) };
  const pipeline = fakePipeline({
    clock,
    mode: createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
    authenticators: [authenticator],
    observer: createAuditLog({ sink, clock }),
  });
  const token = await issuer.sign({ aud: 'kubernetes', exp: 1_800_000_600, sub: 'carol', ...claims });
  const exchange = fakeExchange({ headers: [['Authorization', `Bearer ${token}`]] });
  await serveRequest(exchange, pipeline);
  return { status: exchange.response.status, event: events.at(-1), sent: pipeline.sent[0]?.headers ?? [] };
}

const CREDENTIAL_ID = 'Impersonate-Extra-authentication.kubernetes.io%2fcredential-id';

t.test('the id of the token reaches the API server in the form that kube-apiserver uses', async (t) => {
  const { sent } = await request({ jti: '7f9c2ba4' });
  t.same(
    sent.filter(([name]) => name === CREDENTIAL_ID),
    [[CREDENTIAL_ID, 'JTI=7f9c2ba4']],
  );
});

for (const jti of ['', 5])
  t.test(`a token whose jti is ${JSON.stringify(jti)} has no credential id`, async (t) => {
    const { status, sent } = await request({ jti });
    t.equal(status, 200);
    t.notOk(sent.some(([name]) => name === CREDENTIAL_ID));
  });

t.test('an id that would change in transit is refused', async (t) =>
  t.match(await request({ jti: 'a\n' }), { status: 403, sent: [] }),
);

for (const [claims, name] of [
  [{ groups: ['developers', 'system:masters'] }, 'system:masters'],
  [{ sub: 'system:admin' }, 'system:admin'],
  [{ groups: ['two\nlines'] }, 'two\nlines'],
  [{ sub: `system:gAAAAA${'Zq9'.repeat(20)}` }, 'system:[redacted]'],
  [{ sub: `system:${'x'.repeat(600)}` }, `system:${'x'.repeat(505)}…`],
] as const)
  t.test(
    `a refused ${JSON.stringify(claims).slice(0, 60)} is in the audit log with its issuer`,
    async (t) => {
      const { status, event } = await request({ jti: 't-1', ...claims });
      t.equal(status, 403);
      t.same(event?.user, {});
      t.match(event?.annotations, {
        'stonegate.dev/issuer': ISSUER,
        'stonegate.dev/token-id': 't-1',
        'stonegate.dev/refused-name': name,
      });
    },
  );
