import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { Invitations } from '../../../../src/features/members/feature.ts';
import { createFakePortal, headerOf } from '../../../support/portal.ts';

const SECRET = 'sgi_abcd1234secret';
const OFFER = {
  ...{ namespace: 'web', role: 'edit', inviter: 'acme:bob' },
  ...{ accepted: false, expirationTimestamp: '2026-12-03T09:00:00Z' },
};

/** An invitation that counts once. */
function fakeInvitations() {
  let isOpen = true;
  const open = (secret: string) => {
    if (secret !== SECRET || !isOpen) throw new StatusError('NotFound', 'none for you');
    return OFFER;
  };
  const invitations: Invitations = {
    show: async (_identity, secret) => open(secret),
    async accept(_identity, secret) {
      const offer = open(secret);
      isOpen = false;
      return offer;
    },
    invite: () => Promise.reject(new Error('not used')),
    list: async () => [],
    withdraw: async () => undefined,
  };
  return invitations;
}

t.test('the secret of a link is in no address after it, through signing in and back', async (t) => {
  const browser = createFakePortal({ invitations: fakeInvitations() }).browser();
  const followed = await browser.get(`/invitation/${SECRET}`);
  t.equal(followed.status, 303);
  t.equal(headerOf(followed, 'location'), '/invitation');
  t.notMatch(JSON.stringify(followed.headers), SECRET);
  const toSignIn = await browser.get('/invitation');
  t.equal(headerOf(toSignIn, 'location'), '/login?next=%2Finvitation');
  const login = await browser.get('/login?next=%2Finvitation');
  t.notMatch(login.text, SECRET);
  const toIssuer = await browser.get('/login/oidc?provider=acme&next=%2Finvitation');
  t.notMatch(JSON.stringify(toIssuer.headers), SECRET);
  const back = await browser.get('/login/callback/acme?state=the-state&code=c');
  t.equal(headerOf(back, 'location'), '/invitation');
  const { status, text } = await browser.get('/invitation');
  t.equal(status, 200);
  t.match(text, 'acme:bob</strong> invites you');
  t.notMatch(text, SECRET);
});

t.test('an invitation that cannot be accepted is the same page for every reason', async (t) => {
  const portal = createFakePortal({ invitations: fakeInvitations() });
  const browser = portal.browser();
  await browser.signIn();
  const without = await browser.get('/invitation');
  t.equal(without.status, 404);
  const shownFor = async (secret: string) => {
    await browser.get(`/invitation/${secret}`);
    const { status, text } = await browser.get('/invitation');
    t.equal(status, 404);
    return text.replaceAll(/value="[^"]*"/g, '');
  };
  const unknown = await shownFor('sgi_nonsense');
  await browser.get(`/invitation/${SECRET}`);
  await browser.get('/invitation');
  t.equal((await browser.post('/invitation', { do: 'accept', token: browser.formToken })).status, 303);
  t.match((await browser.get('/invitation')).text, 'You have the role edit in the namespace web now.');
  t.equal(await shownFor(SECRET), unknown);
  t.equal(await shownFor('%2e%2e'), unknown);
  t.equal(without.text.replaceAll(/value="[^"]*"/g, ''), unknown);
});

t.test('accepting without a link is refused, and nothing is accepted by a GET', async (t) => {
  const invitations = fakeInvitations();
  const browser = createFakePortal({ invitations }).browser();
  await browser.signIn();
  await browser.get(`/invitation/${SECRET}`);
  await browser.get('/invitation');
  await browser.get('/invitation');
  const token = browser.formToken;
  browser.cookies.delete('__Host-stonegate-invitation');
  t.equal((await browser.post('/invitation', { do: 'accept', token })).status, 404);
  await browser.get(`/invitation/${SECRET}`);
  t.equal((await browser.get('/invitation')).status, 200);
});

t.test('without invitations a link leads nowhere', async (t) => {
  t.equal((await createFakePortal().browser().get(`/invitation/${SECRET}`)).status, 404);
});
