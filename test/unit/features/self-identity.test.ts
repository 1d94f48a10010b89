import t from 'tap';
import { parse } from 'yaml';
import { createSelfIdentityHandler } from '../../../src/features/self-identity.ts';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import type { ProjectNamespace } from '../../../src/tenancy/keystone-v3.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { alice, fakePipeline } from '../../support/fake-pipeline.ts';
import { ownAPIHandler } from '../../support/own-api.ts';

const BEARER = ['Authorization', 'Bearer secret-token'] as const;
const SELF = '/apis/stonegate.dev/v1alpha1/selfidentity';

const namespaceOf: ProjectNamespace = ({ id, domainID }) => (id === 'p1' ? `${domainID}-web` : undefined);

async function whoIs(identity = alice, headers: HeaderList = []) {
  const pipeline = fakePipeline({
    handlers: ownAPIHandler({ selfidentity: createSelfIdentityHandler(namespaceOf) }),
    authenticators: [{ name: 'fake', authenticate: async () => identity }],
  });
  const exchange = fakeExchange({ target: SELF, headers: [BEARER, ...headers] });
  await serveRequest(exchange, pipeline);
  return { response: exchange.response, sent: pipeline.sent };
}

t.test('Stonegate tells users who they are, without asking the API server', async (t) => {
  const scope = { kind: 'project', id: 'p1', name: 'web', roles: ['member'] } as const;
  const { response, sent } = await whoIs({ ...alice, scope, expiresAt: Date.UTC(2030, 0, 1) + 999 });
  t.equal(response.status, 200);
  t.strictSame(
    response.json(),
    parse(`
    kind: SelfIdentity
    apiVersion: stonegate.dev/v1alpha1
    metadata: {creationTimestamp: null}
    status:
      user: {username: 'acme:alice', uid: u1, groups: ['keystone:project:p1', 'system:authenticated'], extra: {}}
      tenant: acme
      authenticator: keystone
      scope: {kind: project, id: p1, name: web, namespace: d1-web}
      roles: [member]
      expirationTimestamp: !!str 2030-01-01T00:00:00Z`),
  );
  t.same(sent, []);
});

t.test(
  'with impersonation the response shows the impersonated user and no facts of the sender’s credential',
  async (t) => {
    const scope = { kind: 'project', id: 'p1', name: 'web', roles: ['member'] } as const;
    const { response } = await whoIs({ ...alice, scope }, [['Impersonate-User', 'bob']]);
    const { status } = JSON.parse(response.text);
    t.match(
      status,
      parse("{user: {username: 'acme:bob', groups: [system:authenticated]}, roles: {length: 0}}"),
    );
    t.notOk('scope' in status);
  },
);

t.test('a credential that never expires is shown with the latest possible timestamp', async (t) => {
  const { response } = await whoIs({ ...alice, expiresAt: Number.MAX_SAFE_INTEGER });
  t.match(response.json(), { status: { expirationTimestamp: '9999-12-31T23:59:59Z' } });
});
