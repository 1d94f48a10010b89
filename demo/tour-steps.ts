/** The steps of the tour. */
import { type JsonObject, objectAt, objectsAt, textAt, textsAt } from '../test/support/apiserver/json.ts';
import type { Exchange, Step } from './tour.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const WHO_CAN = '/apis/stonegate.dev/v1alpha1/namespaces/shop/localresourceaccessreviews';

const ALICE = { context: 'acme-alice', tenant: 'acme', user: 'acme:alice' };
const BOB = { context: 'globex-bob', tenant: 'globex', user: 'globex:bob' };
const CAROL = { context: 'acme-carol', tenant: 'acme', user: 'acme:oidc:carol@acme.example' };
type DemoUser = typeof ALICE;

export const STEPS: readonly Step[] = [
  {
    title: 'Who am I? alice and bob come from Keystone, carol from the OIDC provider',
    exchanges: [ALICE, BOB, CAROL].map(whoAmI),
  },
  {
    title: 'Both list their pods under the same short path',
    exchanges: [ALICE, BOB].map((user) => ({
      ...asked(user, PODS),
      read: namesIn('tenant'),
      is: `200 ${user.tenant}/web, ${user.tenant}/worker`,
    })),
  },
  {
    title: 'The same name in two tenants is two objects',
    exchanges: [ALICE, BOB].map((user) => ({
      ...asked(user, `${CONFIGMAPS}/settings`),
      read: (answer) => `data.owner: ${textAt(objectAt(answer, 'data'), 'owner')}`,
      is: `200 data.owner: ${user.tenant}`,
    })),
  },
  {
    title: "Another tenant's path is refused before the API server sees it",
    exchanges: [
      {
        context: ALICE.context,
        path: inTenant('globex', `${CONFIGMAPS}/settings`),
        read: (answer) => `${textAt(answer, 'reason')}: ${textAt(answer, 'message')}`,
        is: /^403 Forbidden: /,
        upstream: [],
      },
    ],
  },
  {
    title: 'A watch sees what another user changes',
    async run({ watch, exchange }) {
      const arrived = await watch(ALICE.context, `${CONFIGMAPS}?watch=true`, '"name":"news"');
      await exchange({
        context: CAROL.context,
        method: 'POST',
        path: CONFIGMAPS,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'news' }, data: { by: 'carol' } },
        read: (answer) => textAt(objectAt(answer, 'metadata'), 'name'),
        is: '201 news',
      });
      await arrived();
    },
  },
  {
    title: 'dave may read two namespaces: his lists of everything have these',
    exchanges: [
      {
        context: 'acme-dave',
        path: '/api/v1/namespaces',
        read: namesIn(),
        is: '200 shop, staging',
        upstream: [],
      },
      {
        context: 'acme-dave',
        path: '/api/v1/pods',
        read: namesIn('namespace'),
        is: '200 shop/till, staging/till',
        upstream: ['shop', 'staging'].map(
          (namespace) => `GET /api/v1/tenants/acme/namespaces/${namespace}/pods as acme:dave`,
        ),
      },
    ],
  },
  {
    title: 'Who can list pods in the namespace shop, and through which binding?',
    exchanges: [
      {
        context: ALICE.context,
        method: 'POST',
        path: WHO_CAN,
        body: {
          apiVersion: 'stonegate.dev/v1alpha1',
          kind: 'LocalResourceAccessReview',
          spec: { verb: 'list', resource: 'pods' },
        },
        read: grantsIn,
        is: /^201 .*acme:dave \(readers\)/,
      },
    ],
  },
  {
    title: 'exec over WebSocket; first Stonegate asks whether alice may',
    run: ({ exec }) =>
      exec(
        ALICE.context,
        `${PODS}/web/exec?command=echo&command=hello&stdout=true`,
        '101 "hello\\n", then {"metadata":{},"status":"Success"}',
      ),
  },
];

/** A GET of a short path, which reaches the API server as the user's own. */
function asked({ context, tenant, user }: DemoUser, path: string) {
  return { context, path, upstream: [`GET ${inTenant(tenant, path)} as ${user}`] };
}

function whoAmI({ context, user }: DemoUser): Exchange {
  return {
    context,
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    read(answer) {
      const info = objectAt(objectAt(answer, 'status'), 'userInfo');
      return `${textAt(info, 'username')} in ${textsAt(info, 'groups').map(shortened).join(', ')}`;
    },
    is: new RegExp(`^201 ${user} in `),
  };
}

/** @param place the member of the metadata before each name */
function namesIn(place?: 'tenant' | 'namespace') {
  return (answer: JsonObject): string =>
    objectsAt(answer, 'items')
      .map((item) => objectAt(item, 'metadata'))
      .map((metadata) => `${place ? `${textAt(metadata, place)}/` : ''}${textAt(metadata, 'name')}`)
      .join(', ');
}

function grantsIn(answer: JsonObject): string {
  const grants = objectsAt(objectAt(answer, 'status'), 'grants').map((grant) => {
    const binding = textAt(objectAt(grant, 'binding'), 'name');
    const name = textAt(objectAt(grant, 'subject'), 'name');
    return binding === '' ? name : `${name} (${binding})`;
  });
  return grants.join(', ');
}

function inTenant(tenant: string, path: string): string {
  return path.replace('/api/v1/', `/api/v1/tenants/${tenant}/`);
}

/** Shortens Keystone's ids for display. */
function shortened(group: string): string {
  return group.replace(/([0-9a-f]{4})[0-9a-f]{28}/g, '$1…');
}
