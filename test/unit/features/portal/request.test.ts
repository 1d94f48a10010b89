import fc from 'fast-check';
import t from 'tap';
import { redirectTarget } from '../../../../src/features/portal/request.ts';
import { openRedirects } from '../../../support/open-redirects.ts';
import { createFakePortal, headerOf } from '../../../support/portal.ts';
import { PAGE_SOURCES, pagesOf } from '../../../support/portal-pages.ts';

const PORTAL = { pages: pagesOf(PAGE_SOURCES) };

t.test('C166 C167 C168 C169 C170 C171 C172 targets on another site lead to the start page', async (t) => {
  for (const next of [
    '/\\evil.com',
    '/\t/evil.com',
    '/ /evil.com',
    '/./\\evil.com',
    '/\r\\evil.com',
    'http://evil.corp/redirect?rd=foo.bar',
    'http://foo.bar.evil.corp/redirect',
  ]) {
    const response = await createFakePortal(PAGE_SOURCES).browser().signIn({ next });
    t.equal(headerOf(response, 'location'), '/', next);
  }
});

t.test('C175 each of thousands of known payloads leads to the start page', async (t) => {
  const payloads = openRedirects();
  t.ok(payloads.length > 2_000, `${payloads.length} of them`);
  t.same(
    payloads.filter((payload) => redirectTarget(payload, PORTAL) !== '/'),
    [],
  );
});

t.test('for any value, the target is a page of the portal', async () => {
  const known = new Set(['/', '/#kubectl', ...PORTAL.pages.map(({ path }) => path)]);
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom(...known),
    fc.string().map((namespace) => `/members?namespace=${namespace}`),
    fc.string({ unit: fc.constantFrom('/', '\\', '?', '&', '\n', ' ', '.', 'a', 'members?namespace=') }),
  );
  fc.assert(
    fc.property(value, (next) => {
      const target = redirectTarget(next, PORTAL);
      return known.has(target) || /^\/members\?namespace=[a-z0-9-]+$/.test(target);
    }),
  );
});

t.test('a user who opens the members of a namespace returns there after signing in', async (t) => {
  const next = '/members?namespace=web';
  const response = await createFakePortal(PAGE_SOURCES).browser().signIn({ next });
  t.equal(headerOf(response, 'location'), next);
});
