import fc from 'fast-check';
import t from 'tap';
import { redirectTarget } from '../../../../src/features/portal/request.ts';
import { openRedirects } from '../../../support/open-redirects.ts';
import { createFakePortal, headerOf } from '../../../support/portal.ts';

for (const [what, target] of [
  ['C166 a slash and a backslash', '/\\evil.com'],
  ['C167 a tab between slashes', '/\t/evil.com'],
  ['C168 a space between slashes', '/ /evil.com'],
  ['C169 a dot segment and a backslash', '/./\\evil.com'],
  ['C170 a carriage return and a backslash', '/\r\\evil.com'],
  ['C171 another site with a redirect of its own', 'http://evil.corp/redirect?rd=foo.bar'],
  ['C172 a host with the same suffix', 'http://foo.bar.evil.corp/redirect'],
] as const)
  t.test(`${what} leads to the start page`, async (t) => {
    const response = await createFakePortal().browser().signIn({ next: target });
    t.equal(headerOf(response, 'location'), '/');
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
