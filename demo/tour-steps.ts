/** The steps of the tour. Each one checks its results, so that the tour is also a test. */
import {
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
} from '../test/support/apiserver/json.ts';
import type { Guide, Step } from './tour.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const EXEC = `${PODS}/web/exec?command=echo&command=hello&stdout=true`;

/** Context → tenant and impersonated user name. */
const USERS = {
  'acme-alice': { tenant: 'acme', username: 'acme:alice' },
  'globex-bob': { tenant: 'globex', username: 'globex:bob' },
  'acme-carol': { tenant: 'acme', username: 'acme:oidc:carol@acme.example' },
} as const;

type ContextName = keyof typeof USERS;

export const STEPS: readonly Step[] = [
  {
    title: 'Who am I? alice and bob come from Keystone, carol from the OIDC provider',
    async run(guide) {
      for (const context of ['acme-alice', 'globex-bob', 'acme-carol'] as const) await whoAmI(guide, context);
    },
  },
  {
    title: 'Both list their pods under the same short path',
    async run(guide) {
      for (const context of ['acme-alice', 'globex-bob'] as const) await listPods(guide, context);
    },
  },
  {
    title: 'The same name in two tenants is two objects',
    async run(guide) {
      for (const context of ['acme-alice', 'globex-bob'] as const) await readSettings(guide, context);
    },
  },
  { title: "Another tenant's path is refused before the API server sees it", run: readAcross },
  { title: 'A watch sees what another user changes', run: watchAChange },
  { title: 'dave may read two namespaces: his lists of everything have these', run: listEverywhere },
  { title: 'Who can list pods in the namespace shop, and through which binding?', run: askWhoCan },
  { title: 'exec over WebSocket; first Stonegate asks whether alice may', run: execute },
];

async function whoAmI(guide: Guide, context: ContextName): Promise<void> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const call = guide.call(context, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
  const { status, body } = await guide.client.ask(call);
  const user = objectAt(objectAt(parsed(body), 'status'), 'userInfo');
  const groups = textsAt(user, 'groups').map(shortened).join(', ');
  guide.show(call, `${status} ${textAt(user, 'username')} in ${groups}`);
  assertEqual('the status', status, 201);
  assertEqual('the user name', textAt(user, 'username'), USERS[context].username);
}

async function listPods(guide: Guide, context: ContextName): Promise<void> {
  const { tenant, username } = USERS[context];
  const call = guide.call(context, 'GET', PODS);
  const { status, body } = await guide.client.ask(call);
  const found = objectsAt(parsed(body), 'items').map((pod) => {
    const metadata = objectAt(pod, 'metadata');
    return `${textAt(metadata, 'tenant')}/${textAt(metadata, 'name')}`;
  });
  const seen = guide.show(call, `${status} ${found.join(', ')}`);
  assertEqual('the status', status, 200);
  assertEqual('the pods', found.join(' '), `${tenant}/web ${tenant}/worker`);
  assertEqual('the API server', seen.join(), `GET ${inTenant(tenant, PODS)} as ${username}`);
}

async function readSettings(guide: Guide, context: ContextName): Promise<void> {
  const { tenant, username } = USERS[context];
  const path = `${CONFIGMAPS}/settings`;
  const call = guide.call(context, 'GET', path);
  const { status, body } = await guide.client.ask(call);
  const owner = textAt(objectAt(parsed(body), 'data'), 'owner');
  const seen = guide.show(call, `${status} data.owner: ${owner}`);
  assertEqual('the status', status, 200);
  assertEqual('data.owner', owner, tenant);
  assertEqual('the API server', seen.join(), `GET ${inTenant(tenant, path)} as ${username}`);
}

async function readAcross(guide: Guide): Promise<void> {
  const call = guide.call('acme-alice', 'GET', `${inTenant('globex', CONFIGMAPS)}/settings`);
  const { status, body } = await guide.client.ask(call);
  const answer = parsed(body);
  const seen = guide.show(call, `${status} ${textAt(answer, 'reason')}: ${textAt(answer, 'message')}`);
  assertEqual('the status', status, 403);
  assertEqual('the reason', textAt(answer, 'reason'), 'Forbidden');
  assertEqual('the API server', seen.join(), '');
}

async function watchAChange(guide: Guide): Promise<void> {
  const { client } = guide;
  const watching = guide.call('acme-alice', 'GET', `${CONFIGMAPS}?watch=true`);
  const watch = await client.watch(watching);
  try {
    const watchSeen = guide.show(watching, `${watch.status} and stays open`);
    assertEqual('the status', watch.status, 200);
    assertEqual('the API server', watchSeen.length, 1);

    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'news' }, data: { by: 'carol' } };
    const creating = guide.call('acme-carol', 'POST', CONFIGMAPS, object);
    const { status } = await client.ask(creating);
    guide.show(creating, `${status} news`);
    assertEqual('the status', status, 201);

    const event = await watch.next((one) => textAt(metadataOf(one), 'name') === 'news');
    const told = `${isObject(event) ? textAt(event, 'type') : ''} ${textAt(metadataOf(event), 'name')}`;
    guide.tell('acme-alice', `${told}, on the watch`);
    assertEqual('the event', told, 'ADDED news');
  } finally {
    watch.close();
  }
}

async function listEverywhere(guide: Guide): Promise<void> {
  const namespaces = guide.call('acme-dave', 'GET', '/api/v1/namespaces');
  const listed = await guide.client.ask(namespaces);
  const names = objectsAt(parsed(listed.body), 'items').map((one) =>
    textAt(objectAt(one, 'metadata'), 'name'),
  );
  const seen = guide.show(namespaces, `${listed.status} ${names.join(', ')}`);
  assertEqual('the namespaces', names.join(' '), 'shop staging');
  assertEqual('the API server', seen.join(), '');

  const everywhere = guide.call('acme-dave', 'GET', '/api/v1/pods');
  const { status, body } = await guide.client.ask(everywhere);
  const pods = objectsAt(parsed(body), 'items').map((pod) => {
    const metadata = objectAt(pod, 'metadata');
    return `${textAt(metadata, 'namespace')}/${textAt(metadata, 'name')}`;
  });
  const parts = guide.show(everywhere, `${status} ${pods.join(', ')}`);
  assertEqual('the pods', pods.join(' '), 'shop/till staging/till');
  assertEqual('the requests to the API server', parts.length, 2);
}

async function askWhoCan(guide: Guide): Promise<void> {
  const review = {
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'LocalResourceAccessReview',
    spec: { verb: 'list', resource: 'pods' },
  };
  const path = '/apis/stonegate.dev/v1alpha1/namespaces/shop/localresourceaccessreviews';
  const call = guide.call('acme-alice', 'POST', path, review);
  const { status, body } = await guide.client.ask(call);
  const grants = objectsAt(objectAt(parsed(body), 'status'), 'grants').map((grant) => {
    const binding = textAt(objectAt(grant, 'binding'), 'name');
    const name = textAt(objectAt(grant, 'subject'), 'name');
    return binding === '' ? name : `${name} (${binding})`;
  });
  guide.show(call, `${status} ${grants.join(', ')}`);
  assertEqual('the status', status, 201);
  assertEqual('that dave is among them', grants.includes('acme:dave (readers)'), true);
}

async function execute(guide: Guide): Promise<void> {
  const call = guide.call('acme-alice', 'GET', EXEC);
  const { stdout, outcome } = await guide.client.exec(call);
  const status = textAt(parsed(outcome), 'status');
  const seen = guide.show(call, `101 ${JSON.stringify(stdout)}, then ${status}`);
  assertEqual('the output', stdout, 'hello\n');
  assertEqual('the outcome', status, 'Success');
  assertEqual('the API server', seen.at(-1), `GET ${inTenant('acme', EXEC)} as acme:alice`);
}

function inTenant(tenant: string, path: string): string {
  return path.replace('/api/v1/', `/api/v1/tenants/${tenant}/`);
}

function metadataOf(event: unknown): JsonObject {
  return isObject(event) ? objectAt(objectAt(event, 'object'), 'metadata') : {};
}

/** @throws Error with the start of the text if it is not a JSON object */
function parsed(body: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw new Error(`no JSON came back: ${body.slice(0, 80)}`, { cause });
  }
  if (!isObject(value)) throw new Error(`no JSON object came back: ${body.slice(0, 80)}`);
  return value;
}

/** Shortens Keystone's ids for display. */
function shortened(group: string): string {
  return group.replace(/([0-9a-f]{4})[0-9a-f]{28}/g, '$1…');
}

function assertEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`${what} should be ${JSON.stringify(expected)}, but is ${JSON.stringify(actual)}`);
}
