import fc from 'fast-check';
import t from 'tap';
import { redirectTarget } from '../../../../src/features/portal/request.ts';
import { openRedirects } from '../../../support/open-redirects.ts';
import { createFakePortal, headerOf } from '../../../support/portal.ts';

t.test('both redirect targets are accepted', async (t) => {
  t.equal(redirectTarget('/'), '/');
  t.equal(redirectTarget('/#kubectl'), '/#kubectl');
  t.equal(redirectTarget('/access'), '/access');
});

t.test('the default redirect target is the start page', async (t) => {
  t.equal(redirectTarget(undefined), '/');
  t.equal(redirectTarget(null), '/');
  t.equal(redirectTarget(''), '/');
});

async function redirectAfterSignIn(next: string): Promise<string | undefined> {
  return headerOf(await createFakePortal().browser().signIn({ next }), 'location');
}

t.test('C166 a target of /\\evil.com leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('/\\evil.com'), '/');
});
t.test('C167 a target with a tab between its slashes leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('/\t/evil.com'), '/');
});
t.test('C168 a target with a space between its slashes leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('/ /evil.com'), '/');
});
t.test('C169 a target with a dot segment and a backslash leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('/./\\evil.com'), '/');
});
t.test('C170 a target with a carriage return and a backslash leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('/\r\\evil.com'), '/');
});
t.test('C171 a target on another site with a redirect of its own leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('http://evil.corp/redirect?rd=foo.bar'), '/');
});
t.test('C172 a target on a host with the same suffix leads to the start page', async (t) => {
  t.equal(await redirectAfterSignIn('http://foo.bar.evil.corp/redirect'), '/');
});

t.test('C175 each of thousands of known payloads leads to the start page', async (t) => {
  const payloads = openRedirects();
  t.ok(payloads.length > 2_000, `${payloads.length} of them`);
  t.same(
    payloads.filter((payload) => redirectTarget(payload) !== '/'),
    [],
  );
});

t.test('for any value, the target is one of the two', async () => {
  fc.assert(fc.property(fc.string(), (next) => ['/', '/#kubectl', '/access'].includes(redirectTarget(next))));
});
