/** Which requests an access token may send; the API server reviews its owner alone. */
import t from 'tap';
import { createScopeAuthorizer } from '../../../../src/features/tokens/scope-authorizer.ts';
import type { AccessToken } from '../../../../src/features/tokens/token-store.ts';
import type { AuthorizationAttributes } from '../../../../src/proxy/authorizer.ts';
import { sharedMode } from '../../../support/all-namespaces.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { rule } from '../../../support/policy-rule.ts';
import { eachRow } from '../../../support/rows.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const RULES = [{ ...rule('patch', 'pods,pods/status'), namespaces: ['lab'] }];
const VALID: Pick<AccessToken, 'revoked'> = { revoked: undefined };

/**
 * @param scopes empty for another credential
 * @returns why a request, such as `GET /version`, is refused
 */
function outcomeOf(
  scopes: string,
  request: string,
  {
    stored = VALID,
    ...more
  }: Partial<AuthorizationAttributes> & { readonly stored?: typeof VALID | 'deleted' } = {},
): string {
  const [method = '', target = '', type = ''] = request.split(' ');
  const accessToken = tokenScope(scopes, RULES);
  const identity = { ...keystoneIdentity('alice'), ...(scopes !== '' && { accessToken }) };
  const headers = [['Content-Type', type]] as const;
  let outcome = 'allowed';
  const authorizer = createScopeAuthorizer({
    store: { get: () => (stored === 'deleted' ? undefined : stored) },
    mode: sharedMode,
    signedIn: () => {
      outcome = 'signed in';
    },
  });
  try {
    authorizer.authorize({ ...outgoingOf(sharedMode, identity, { method, target, headers }), ...more });
    return outcome;
  } catch (error) {
    return String(error);
  }
}

t.test('a list or watch of all namespaces, which is filtered, needs a scope of one of them', async (t) => {
  await eachRow(
    `
    namespace/web/read | GET /api/v1/namespaces/lab/pods                          | cannot list
    namespace/web/read | GET /api/v1/pods                                         | allowed
    namespace/web/read | GET /api/v1/pods?watch=1                                 | allowed
    namespace/web/read | GET /api/v1/pods?fieldSelector=metadata.name%3Dp         | cannot list
    namespace/web/read | GET /api/v1/namespaces?fieldSelector=metadata.name%3Dlab | allowed
    namespace/web/read | GET /api/v1/secrets                                      | cannot list
    namespace/web/edit | DELETE /api/v1/pods                                      | cannot deletecollection
    userinfo           | GET /api/v1/pods                                         | cannot list`,
    (scopes, request, outcome) => t.match(outcomeOf(scopes, request), outcome, `${scopes} ${request}`),
  );
});

t.test('a path outside a token’s scopes is refused', async (t) => {
  t.match(outcomeOf('userinfo', 'GET /metrics'), 'cannot get path');
  t.match(outcomeOf('userinfo', 'GET /apis/apps/v1/namespaces'), 'cannot list');
});

t.test('a server-side apply, which may create the object, needs the right to create it too', async (t) => {
  const pod = '/api/v1/namespaces/lab/pods/p';
  t.equal(outcomeOf('userinfo', `PATCH ${pod} application/merge-patch+json`), 'allowed');
  t.match(outcomeOf('userinfo', `PATCH ${pod} application/Apply-Patch+yaml`), 'cannot create');
  t.equal(outcomeOf('userinfo', `PATCH ${pod}/status application/apply-patch+yaml`), 'allowed');
  t.equal(outcomeOf('namespace/lab/edit', `PATCH ${pod} application/apply-patch+yaml`), 'allowed');
  t.equal(outcomeOf('namespace/lab/read', `GET ${pod} application/apply-patch+yaml`), 'allowed');
});

t.test('a token that impersonates needs +impersonate', async (t) => {
  const { user: impersonator } = outgoingOf(sharedMode, keystoneIdentity('alice'), {});
  t.match(outcomeOf('read', 'GET /api/v1/pods', { impersonator }), 'without +impersonate');
  t.equal(outcomeOf('read +impersonate', 'GET /api/v1/pods', { impersonator }), 'allowed');
});

t.test('a guest’s token needs the scope session', async (t) => {
  const { user, tenant } = outgoingOf(sharedMode, keystoneIdentity('alice'), {});
  const guest = { impersonator: user, crossing: { tenant } };
  t.match(outcomeOf('read +impersonate', 'GET /api/v1/pods', guest), 'without session');
  t.equal(outcomeOf('session', 'GET /api/v1/pods', guest), 'allowed');
});

t.test('a token that was revoked or deleted since it was authenticated is refused', async (t) => {
  const revoked = { revoked: { at: 0, reason: 'revoked by its owner' } };
  for (const stored of [revoked, 'deleted'] as const)
    t.match(outcomeOf('session', 'GET /version', { stored }), 'Unauthorized', 'as any invalid credential');
});

t.test('a request with another credential is allowed, and counts as a sign-in of its user', async (t) => {
  t.equal(outcomeOf('', 'GET /version'), 'signed in');
});
