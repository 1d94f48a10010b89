import t from 'tap';
import { createAuthenticationReadiness } from '../../../src/identity/authenticator.ts';

const reached = { name: 'keystone', notReadyBecause: () => undefined };
const missing = { name: 'issuer https://login.example.com', notReadyBecause: () => 'connection refused' };

t.test('C064 one source that was reached is enough, unless all are wanted', async (t) => {
  t.equal(createAuthenticationReadiness([reached, missing], false).notReadyBecause(), undefined);
  t.equal(
    createAuthenticationReadiness([reached, missing], true).notReadyBecause(),
    'issuer https://login.example.com: connection refused',
  );
  t.equal(createAuthenticationReadiness([reached, reached], true).notReadyBecause(), undefined);
});

t.test('no source reached is not ready, and all are named', async (t) => {
  t.match(createAuthenticationReadiness([missing, missing], false).notReadyBecause(), /refused; issuer/);
});
