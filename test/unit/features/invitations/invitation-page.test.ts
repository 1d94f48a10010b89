import t from 'tap';
import { createFakePortal, headerOf, signedIn } from '../../../support/portal.ts';
import { PAGE_SOURCES } from '../../../support/portal-pages.ts';

const LINK = '/invitation/sgi_abcd1234secret';
const OFFER = {
  ...{ namespace: 'web', role: 'edit', inviter: 'acme:bob' },
  ...{ accepted: false, expirationTimestamp: '2026-12-03T09:00:00Z' },
};

t.test('accepting without a link is refused, and nothing is accepted by a GET', async (t) => {
  const unexpected = () => Promise.reject(new Error('not expected'));
  const others = { invite: unexpected, list: unexpected, withdraw: unexpected, offered: () => undefined };
  const invitations = { show: async () => OFFER, accept: unexpected, ...others };
  const { browser } = await signedIn({ invitations });
  await browser.get(LINK);
  t.equal(await browser.status('/invitation'), 200);
  const token = browser.formToken;
  browser.cookies.delete('__Host-stonegate-invitation');
  t.equal((await browser.post('/invitation', { do: 'accept', token })).status, 404);
});

t.test('without the invitations feature a link gets 404', async (t) => {
  t.equal((await createFakePortal().browser().get(LINK)).status, 404);
});

t.test(
  'the sign-in page says what a user is invited to who has followed the link, and no other',
  async (t) => {
    const asked: string[] = [];
    const offered = (secret: string) => {
      asked.push(secret);
      return secret === 'sgi_abcd1234secret' ? OFFER : undefined;
    };
    const portal = createFakePortal({ invitations: { ...PAGE_SOURCES.invitations, offered } });
    const invited = portal.browser();
    await invited.get(LINK);
    const location = headerOf(await invited.get('/invitation'), 'location') ?? '';
    const words = /You are invited to the namespace <code>web<\/code>, with the role <strong>edit<\/strong>/;
    t.match(await invited.text(location), words);
    portal.world.password = { refused: 'wrong' };
    const again = await invited.signIn({ next: '/invitation' });
    t.match(again.text, words, 'also after a wrong password');
    t.notMatch(await invited.text('/login'), 'invited', 'but not on the way to another page');
    const other = portal.browser();
    await other.get('/invitation/sgi_abcd1234other');
    t.notMatch(await other.text(location), 'invited');
    t.notMatch(await portal.browser().text(location), 'invited');
    t.same(new Set(asked), new Set(['sgi_abcd1234secret', 'sgi_abcd1234other']));
  },
);
