/**
 * The oldest and the newest kubectl on this machine work with the stand-in itself, with tenants and without.
 */
import t, { type Test } from 'tap';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import type { Flavour } from '../../support/apiserver/kinds.ts';
import { createKubectl, type Kubectl, kubectlsOrSkip } from '../../support/apiserver/kubectl.ts';
import { prints, stop, succeeds } from '../../support/kubectl-users.ts';
import { createAuthority } from '../../support/tls/authority.ts';

/** A minor version of kubectl. */
const FIRST_WITH_WHOAMI = 28;

const binaries = kubectlsOrSkip(t, 'kubectl against the stand-in');
for (const binary of binaries)
  for (const flavour of ['arktos', 'kubernetes'] as const)
    t.test(`${binary.split('/').at(-1)} against ${flavour}`, async (t) => {
      const { server, kubectl, place } = await setUp(t, binary, flavour);
      await readAndWrite(t, kubectl, flavour);
      await follow(t, server, kubectl, place);
      await askAboutOneself(t, kubectl, flavour);
    });

type SetUp = Awaited<ReturnType<typeof setUp>>;

async function setUp(t: Test, binary: string, flavour: Flavour) {
  const authority = await createAuthority();
  const tls = await authority.server('127.0.0.1');
  const tokens = { 'the-token': { username: 'admin', tenant: 'tenant1' } };
  const server = await createApiServer({ flavour, tls, tokens });
  const place = flavour === 'arktos' ? { tenant: 'tenant1' } : {};
  if (flavour === 'arktos') server.seed.tenant('tenant1');
  server.seed.pod('web', place).append('first line');
  const kubectl = createKubectl(t, binary, { server: server.url, ca: authority.cert, token: 'the-token' });
  t.teardown(() => server.close());
  return { server, kubectl, place };
}

async function readAndWrite(t: Test, kubectl: Kubectl, flavour: Flavour) {
  const columns = flavour === 'arktos' ? /NAME +HASHKEY +READY/ : /NAME +READY +STATUS/;
  t.match(await succeeds(t, kubectl, 'get pods'), columns, 'a list is shown as a table');
  const manifest = (value: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cm' }, data: { value } });
  t.match(await succeeds(t, kubectl, 'create -f -', manifest('0')), 'created');
  t.match(await succeeds(t, kubectl, 'delete cm cm'), 'deleted');
  t.match(await succeeds(t, kubectl, 'apply -f -', manifest('1')), 'created');
  t.match(await succeeds(t, kubectl, 'apply -f -', manifest('2')), 'configured');
  t.equal(await succeeds(t, kubectl, 'get cm cm -o jsonpath={.data.value}'), '2');
  t.match(await succeeds(t, kubectl, 'create cm typed --from-literal=a=b'), 'created');
  const deployment = ['create', 'deployment', 'typed', '--image=nginx:1', '--replicas=3'];
  t.match(await succeeds(t, kubectl, deployment), 'created');
  const spec = '{.spec.replicas} {.spec.selector.matchLabels.app} {.spec.template.spec.containers[0].image}';
  const got = ['get', 'deployments.apps', 'typed', '-o', `jsonpath=${spec}`];
  t.equal(await succeeds(t, kubectl, got), '3 typed nginx:1');
  t.match(await succeeds(t, kubectl, 'create job typed --image=nginx:1'), 'created');
  t.match(await succeeds(t, kubectl, ['api-resources']), /^configmaps +cm +v1 +true +ConfigMap$/m);
  t.match(await succeeds(t, kubectl, 'explain pods'), /KIND: +Pod/);
}

async function follow(t: Test, server: ApiServer, kubectl: Kubectl, place: SetUp['place']) {
  const watch = kubectl.start('get cm -w --watch-only -o name');
  await server.arrival(({ url }) => url.includes('watch='));
  const seen = prints(watch, /configmap\/seen/);
  server.seed.configMap('seen', { a: 'b' }, place);
  t.ok(await seen, 'a watch shows a change as it happens');
  await stop(watch);
}

/** With a tenant's own credential, Arktos denies an access review that names no tenant. */
async function askAboutOneself(t: Test, kubectl: Kubectl, flavour: Flavour) {
  const { stdout } = await kubectl.run('auth can-i list pods');
  t.equal(stdout.trim(), flavour === 'arktos' ? 'no' : 'yes');
  if (flavour === 'kubernetes' && kubectl.minor >= FIRST_WITH_WHOAMI)
    t.match(await succeeds(t, kubectl, 'auth whoami -o jsonpath={.status.userInfo.username}'), 'admin');
}
