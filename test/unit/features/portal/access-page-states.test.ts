/**
 * The page "What you may do" in the states that a user rarely sees: no rights, an index that is not current,
 * and rights to every kind.
 */
import t from 'tap';
import type { AccessView } from '../../../../src/features/portal/context.ts';
import { accessPage } from '../../../../src/features/portal/pages/access-page.ts';

const ACCOUNT = {
  name: 'alice',
  domain: 'acme',
  issuer: undefined,
  tenant: 'acme',
  username: 'acme:alice',
  groups: [],
  project: undefined,
  roles: [],
  otherProjects: [],
  expiresAt: 0,
};
const NOTHING: AccessView = {
  matrix: { groups: [], moreGroups: 0 },
  ...{ roles: [], hiddenRoles: 0, moreRoles: 0, incompleteReason: undefined },
};

function page(access: Partial<AccessView>): string {
  const view = { ...NOTHING, ...access };
  const frame = { server: 'https://k8s.example', navigation: undefined };
  return accessPage({ frame, account: ACCOUNT, access: view }).text;
}

t.test('a user without rights is told so', async (t) => {
  const text = page({});
  t.match(text, 'You have no rights in this cluster yet.');
  t.match(text, '>none<');
  t.notMatch(text, 'incomplete');
});

t.test(
  'while the index is not current, the page says why, and does not say that there are no rights',
  async (t) => {
    const text = page({ incompleteReason: 'no news of roles for 6 minutes' });
    t.match(text, 'This may be incomplete: no news of roles for 6 minutes.');
    t.match(text, 'No right of yours in this cluster is known at the moment.');
    t.notMatch(text, 'You have no rights');
  },
);
