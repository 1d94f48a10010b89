import t from 'tap';
import { createFakePortal } from '../../../support/portal.ts';

const LINK = '/invitation/sgi_abcd1234secret';
const OFFER = {
  ...{ namespace: 'web', role: 'edit', inviter: 'acme:bob' },
  ...{ accepted: false, expirationTimestamp: '2026-12-03T09:00:00Z' },
};

t.test('accepting without a link is refused, and nothing is accepted by a GET', async (t) => {
  const unexpected = () => Promise.reject(new Error('not expected'));
  const others = { invite: unexpected, list: unexpected, withdraw: unexpected };
  const invitations = { show: async () => OFFER, accept: unexpected, ...others };
  const browser = createFakePortal({ invitations }).browser();
  await browser.signIn();
  await browser.get(LINK);
  t.equal((await browser.get('/invitation')).status, 200);
  const token = browser.formToken;
  browser.cookies.delete('__Host-stonegate-invitation');
  t.equal((await browser.post('/invitation', { do: 'accept', token })).status, 404);
});

t.test('without the invitations feature a link gets 404', async (t) => {
  t.equal((await createFakePortal().browser().get(LINK)).status, 404);
});
