import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createJWTAuthenticator } from '../../src/identity/jwt/jwt.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { directKeys, ISSUER, jwtConfiguration } from '../support/oidc/jwt-configuration.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';

const CONTEXT = { source: '192.0.2.1', signal: new AbortController().signal };

const text = fc.oneof(
  fc.json(),
  fc.string(),
  fc
    .record({ iss: fc.constant(ISSUER), aud: fc.jsonValue(), exp: fc.jsonValue() })
    .map((part) => JSON.stringify(part)),
  fc
    .record({ alg: fc.constantFrom('ES256', 'none', 'HS256', 'x'), kid: fc.jsonValue() })
    .map((part) => JSON.stringify(part)),
);
const part = text.map((value) => Buffer.from(value).toString('base64url'));
const token = fc.oneof(
  fc.string(),
  fc.tuple(part, part, part).map((parts) => parts.join('.')),
);

t.test('a token without a valid signature is always refused', async (t) => {
  const issuer = await startSigningIssuer({ url: ISSUER });
  t.teardown(() => issuer.down());
  const authenticator = createJWTAuthenticator({
    issuers: [{ configuration: jwtConfiguration(), keys: directKeys(issuer) }],
    clock: createFakeClock(),
  });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(token, async (token) => {
      try {
        return (await authenticator.authenticate({ kind: 'bearer', token }, CONTEXT)) === undefined;
      } catch (error) {
        refused += 1;
        return error instanceof StatusError && error.http === 401 && error.message === 'Unauthorized';
      }
    }),
    { numRuns: 1_000 },
  );
  t.ok(refused > 0, 'some tokens were attributed to the issuer');
});
