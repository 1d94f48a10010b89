import t from 'tap';
import { UsageError } from '../../../src/cli/command.ts';
import { requestOf } from '../../../src/cli/explain-request.ts';

const REQUESTS: readonly (readonly [string, object, string])[] = [
  ['get pods', {}, 'GET /api/v1/namespaces/default/pods'],
  ['list pods', { 'all-namespaces': true }, 'GET /api/v1/pods'],
  ['get pod/web', {}, 'GET /api/v1/namespaces/default/pods/web'],
  ['get pods web', { subresource: 'status' }, 'GET /api/v1/namespaces/default/pods/web/status'],
  ['get nodes', { namespace: 'web' }, 'GET /api/v1/nodes'],
  ['watch deploy', {}, 'GET /apis/apps/v1/namespaces/default/deployments?watch=true'],
  ['watch pods web', {}, 'GET /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb&watch=true'],
  ['update ing shop', {}, 'PUT /apis/networking.k8s.io/v1/namespaces/default/ingresses/shop'],
  ['delete clusterrole system:x', {}, 'DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/system:x'],
  ['get ingressclass', {}, 'GET /apis/networking.k8s.io/v1/ingressclasses'],
  [
    'get widgets.v1beta1.example.com',
    { namespace: 'n' },
    'GET /apis/example.com/v1beta1/namespaces/n/widgets',
  ],
  ['get deployments.v1beta2.apps', {}, 'GET /apis/apps/v1beta2/namespaces/default/deployments'],
  ['get pods a/b', {}, 'GET /api/v1/namespaces/default/pods/a%2Fb'],
  ['logs web', { namespace: 'n' }, 'GET /api/v1/namespaces/n/pods/web/log'],
  ['exec web', {}, 'GET /api/v1/namespaces/default/pods/web/exec websocket'],
  [
    'port-forward web',
    { upgrade: 'spdy/3.1' },
    'GET /api/v1/namespaces/default/pods/web/portforward spdy/3.1',
  ],
  ['', { path: '/api/v1/nodes', method: 'post' }, 'POST /api/v1/nodes'],
];

const split = (words: string) => words.split(' ').filter((word) => word !== '');

for (const [words, flags, expected] of REQUESTS) {
  t.test(`${words} ${JSON.stringify(flags)} is ${expected}`, async (t) => {
    const { method, path, upgrade } = requestOf(split(words), flags);
    t.equal([method, path, upgrade].filter((part) => part !== undefined).join(' '), expected);
  });
}

const WRONG: readonly (readonly [string, object, RegExp])[] = [
  ['', {}, /what is to be explained/],
  ['sing pods', {}, /unknown verb "sing"/],
  ['get widgets', {}, /RESOURCE\.VERSION\.GROUP/],
  ['get pods', { subresource: 'status' }, /needs the name/],
  ['exec a b', {}, /one pod/],
  ['get pods', { method: 'GET' }, /needs --path/],
  ['get pods', { path: '/x' }, /not both/],
  ['get pods', { header: ['bad name: x'] }, /Name: value/],
];
for (const [words, flags, message] of WRONG) {
  t.test(`${words} ${JSON.stringify(flags)} is a usage error`, async (t) => {
    t.throws(() => requestOf(split(words), flags), { constructor: UsageError, message });
  });
}

t.test('headers are sent as they were given', async (t) => {
  const { headers } = requestOf(['get', 'pods'], { header: ['X-A:b: c', 'X-B: '] });
  t.strictSame(headers, [
    ['X-A', 'b: c'],
    ['X-B', ''],
  ]);
});
