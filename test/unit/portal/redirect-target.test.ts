import fc from 'fast-check';
import t from 'tap';
import { redirectTarget } from '../../../src/portal/redirect-target.ts';
import { openRedirects } from '../../support/open-redirects.ts';
import { createFakePortal, headerOf } from '../../support/portal.ts';

t.test('the two places of the portal are reached', async (t) => {
  t.equal(redirectTarget('/'), '/');
  t.equal(redirectTarget('/#kubectl'), '/#kubectl');
});

t.test('without a wish it is the start page', async (t) => {
  t.equal(redirectTarget(undefined), '/');
  t.equal(redirectTarget(null), '/');
  t.equal(redirectTarget(''), '/');
});

/** What a form and a link say, as somebody who was lured would send it. */
async function whereSignInLeads(next: string): Promise<string | undefined> {
  return headerOf(await createFakePortal().browser().signIn({ next }), 'location');
}

t.test('C166 a target of /\\evil.com leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('/\\evil.com'), '/');
});
t.test('C167 a target with a tab between its slashes leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('/\t/evil.com'), '/');
});
t.test('C168 a target with a blank between its slashes leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('/ /evil.com'), '/');
});
t.test('C169 a target with a dot segment and a backslash leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('/./\\evil.com'), '/');
});
t.test('C170 a target with a carriage return and a backslash leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('/\r\\evil.com'), '/');
});
t.test('C171 a target on another site, with a target of its own, leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('http://evil.corp/redirect?rd=foo.bar'), '/');
});
t.test('C172 a target on a host that only ends alike leads to the start page', async (t) => {
  t.equal(await whereSignInLeads('http://foo.bar.evil.corp/redirect'), '/');
});

t.test('C175 each of thousands of known tricks leads to the start page', async (t) => {
  const payloads = openRedirects();
  t.ok(payloads.length > 2_000, `${payloads.length} of them`);
  t.same(
    payloads.filter((payload) => redirectTarget(payload) !== '/'),
    [],
  );
});

t.test('whatever the wish, the target is one of the two', async () => {
  fc.assert(fc.property(fc.string(), (wish) => ['/', '/#kubectl'].includes(redirectTarget(wish))));
});
