/** The steps of the tour. */
import { type JsonObject, objectAt, objectsAt, textAt, textsAt } from '../test/support/apiserver/json.ts';
import type { Mode } from '../test/support/testbed.ts';
import type { Exchange, Step } from './tour.ts';

const WHO_CAN = '/apis/stonegate.dev/v1alpha1/namespaces/shop/localresourceaccessreviews';

interface DemoUser {
  readonly context: string;
  readonly tenant: string;
  readonly user: string;
  /** The namespace that the user works in. */
  readonly namespace: string;
}

/** What differs between the modes. */
interface Site {
  readonly alice: DemoUser;
  readonly bob: DemoUser;
  readonly carol: DemoUser;
  /** The path as the API server sees it. */
  readonly upstream: (tenant: string, path: string) => string;
  /** The member of an object's metadata that says whose it is. */
  readonly owner: 'tenant' | 'namespace';
  readonly titles: { readonly pods: string; readonly names: string; readonly refused: string };
  /** bob's objects, as alice asks for them. */
  readonly foreign: { readonly path: string; readonly reachesAPIServer: boolean };
}

const SITES: Readonly<Record<Mode, Site>> = {
  arktos: {
    alice: { context: 'acme-alice', tenant: 'acme', user: 'acme:alice', namespace: 'default' },
    bob: { context: 'globex-bob', tenant: 'globex', user: 'globex:bob', namespace: 'default' },
    carol: {
      context: 'acme-carol',
      tenant: 'acme',
      user: 'acme:oidc:carol@acme.example',
      namespace: 'default',
    },
    upstream: (tenant, path) => path.replace('/api/v1/', `/api/v1/tenants/${tenant}/`),
    owner: 'tenant',
    titles: {
      pods: 'Both list their pods under the same short path',
      names: 'The same name in two tenants is two objects',
      refused: "Another tenant's path is refused before the API server sees it",
    },
    foreign: {
      path: '/api/v1/tenants/globex/namespaces/default/configmaps/settings',
      reachesAPIServer: false,
    },
  },
  shared: {
    alice: { context: 'acme-alice', tenant: 'acme', user: 'acme:alice', namespace: 'acme' },
    bob: { context: 'globex-bob', tenant: 'globex', user: 'globex:bob', namespace: 'globex' },
    carol: { context: 'acme-carol', tenant: 'acme', user: 'oidc:carol@acme.example', namespace: 'acme' },
    upstream: (_tenant, path) => path,
    owner: 'namespace',
    titles: {
      pods: 'Each lists the pods in the namespace of their tenant',
      names: 'The same name in two namespaces is two objects',
      refused: "Another tenant's namespace is refused by the API server's RBAC",
    },
    foreign: { path: '/api/v1/namespaces/globex/configmaps/settings', reachesAPIServer: true },
  },
};

const podsOf = ({ namespace }: DemoUser): string => `/api/v1/namespaces/${namespace}/pods`;
const configMapsOf = ({ namespace }: DemoUser): string => `/api/v1/namespaces/${namespace}/configmaps`;

export function stepsOf(mode: Mode): readonly Step[] {
  const { alice, bob, carol, upstream, owner, titles, foreign } = SITES[mode];
  const seen = ({ tenant, user }: DemoUser, path: string) => `GET ${upstream(tenant, path)} as ${user}`;
  /** A GET that reaches the API server as the user's own. */
  const asked = (user: DemoUser, path: string) => ({
    context: user.context,
    path,
    upstream: [seen(user, path)],
  });
  return [
    {
      title: 'Who am I? alice and bob come from Keystone, carol from the OIDC provider',
      exchanges: [alice, bob, carol].map(whoAmI),
    },
    {
      title: titles.pods,
      exchanges: [alice, bob].map((user) => ({
        ...asked(user, podsOf(user)),
        read: namesIn(owner),
        is: `200 ${user.tenant}/web, ${user.tenant}/worker`,
      })),
    },
    {
      title: titles.names,
      exchanges: [alice, bob].map((user) => ({
        ...asked(user, `${configMapsOf(user)}/settings`),
        read: (answer) => `data.owner: ${textAt(objectAt(answer, 'data'), 'owner')}`,
        is: `200 data.owner: ${user.tenant}`,
      })),
    },
    {
      title: titles.refused,
      exchanges: [
        {
          context: alice.context,
          path: foreign.path,
          read: (answer) => `${textAt(answer, 'reason')}: ${textAt(answer, 'message')}`,
          is: /^403 Forbidden: /,
          upstream: foreign.reachesAPIServer ? [seen(alice, foreign.path)] : [],
        },
      ],
    },
    {
      title: 'A watch sees what another user changes',
      async run({ watch, exchange }) {
        const arrived = await watch(alice.context, `${configMapsOf(alice)}?watch=true`, '"name":"news"');
        await exchange({
          context: carol.context,
          method: 'POST',
          path: configMapsOf(carol),
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
            (namespace) => `GET ${upstream('acme', `/api/v1/namespaces/${namespace}/pods`)} as acme:dave`,
          ),
        },
      ],
    },
    {
      title: 'Who can list pods in the namespace shop, and through which binding?',
      exchanges: [
        {
          context: alice.context,
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
          alice.context,
          `${podsOf(alice)}/web/exec?command=echo&command=hello&stdout=true`,
          '101 "hello\\n", then {"metadata":{},"status":"Success"}',
        ),
    },
  ];
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

/** Shortens Keystone's ids for display. */
function shortened(group: string): string {
  return group.replace(/([0-9a-f]{4})[0-9a-f]{28}/g, '$1…');
}
