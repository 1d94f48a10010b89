import t from 'tap';
import { createAuthenticationReadiness } from '../../../src/identity/authenticator.ts';

const reached = { name: 'keystone', notReadyBecause: () => undefined };
const missing = { name: 'issuer https://login.example.com', notReadyBecause: () => 'connection refused' };

t.test('C064 Stonegate is ready once one source was reached, unless all are required', async (t) => {
  t.equal(createAuthenticationReadiness([reached, missing], false).notReadyBecause(), undefined);
  t.equal(
    createAuthenticationReadiness([reached, missing], true).notReadyBecause(),
    'issuer https://login.example.com: connection refused',
  );
  t.equal(createAuthenticationReadiness([reached, reached], true).notReadyBecause(), undefined);
});

t.test('if no source was reached, Stonegate is not ready and all sources are named', async (t) =>
  t.match(createAuthenticationReadiness([missing, missing], false).notReadyBecause(), /refused; issuer/),
);
