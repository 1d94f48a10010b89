/**
 * The oldest and the newest kubectl on this machine work with the stand-in itself, with tenants and without.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import type { Flavour } from '../../support/apiserver/kinds.ts';
import { createKubectl, findKubectls, type Kubectl, NO_KUBECTL } from '../../support/apiserver/kubectl.ts';
import { createAuthority } from '../../support/tls/authority.ts';

/** Minor versions of kubectl. */
const FIRST_WITH_WHOAMI = 28;
const FIRST_WITH_WEBSOCKET = 30;
const FIRST_WITH_PROTOBUF = 32;

const binaries = findKubectls();
if (binaries.length === 0) t.test('kubectl against the stand-in', { skip: NO_KUBECTL }, async () => {});
for (const binary of binaries)
  for (const flavour of ['arktos', 'kubernetes'] as const)
    t.test(`${binary.split('/').at(-1)} against ${flavour}`, async (t) => {
      const { server, kubectl, place } = await setUp(t, binary, flavour);
      await readAndWrite(t, kubectl, flavour);
      await execute(t, server, kubectl);
      // A newer kubectl asks for the pod in protobuf first, and finds no pod in the response. With a real
      // Arktos server it fails as well.
      if (flavour === 'kubernetes' || kubectl.minor < FIRST_WITH_PROTOBUF) await reachIntoPods(t, kubectl);
      await follow(t, server, kubectl, place);
      await askAboutOneself(t, kubectl, flavour);
    });

interface SetUp {
  readonly server: ApiServer;
  readonly kubectl: Kubectl;
  readonly place: { readonly tenant?: string };
}

async function setUp(t: Test, binary: string, flavour: Flavour): Promise<SetUp> {
  const authority = await createAuthority();
  const tls = await authority.server('127.0.0.1');
  const tokens = { 'the-token': { username: 'admin', tenant: 'tenant1' } };
  const server = await createApiServer({ flavour, tls, tokens });
  const place = flavour === 'arktos' ? { tenant: 'tenant1' } : {};
  if (flavour === 'arktos') server.seed.tenant('tenant1');
  server.seed.pod('web', place).append('first line');
  const kubectl = createKubectl(binary, { server: server.url, ca: authority.cert, token: 'the-token' });
  t.teardown(async () => {
    kubectl.close();
    await server.close();
  });
  return { server, kubectl, place };
}

async function succeeds(
  t: Test,
  kubectl: Kubectl,
  words: readonly string[],
  stdin?: string,
): Promise<string> {
  const { code, stdout, stderr } = await kubectl.run(words, stdin);
  t.equal(code, 0, `kubectl ${words.join(' ')} succeeds`, { stderr });
  return stdout;
}

async function readAndWrite(t: Test, kubectl: Kubectl, flavour: Flavour): Promise<void> {
  const columns = flavour === 'arktos' ? /NAME +HASHKEY +READY/ : /NAME +READY +STATUS/;
  t.match(await succeeds(t, kubectl, ['get', 'pods']), columns, 'a list is shown as a table');
  const manifest = (value: string): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cm' }, data: { value } });
  t.match(await succeeds(t, kubectl, ['create', '-f', '-'], manifest('0')), 'created');
  t.match(await succeeds(t, kubectl, ['delete', 'cm', 'cm']), 'deleted');
  t.match(await succeeds(t, kubectl, ['apply', '-f', '-'], manifest('1')), 'created');
  t.match(await succeeds(t, kubectl, ['apply', '-f', '-'], manifest('2')), 'configured');
  t.equal(await succeeds(t, kubectl, ['get', 'cm', 'cm', '-o', 'jsonpath={.data.value}']), '2');
  t.match(await succeeds(t, kubectl, ['create', 'cm', 'typed', '--from-literal=a=b']), 'created');
  const deployment = ['create', 'deployment', 'typed', '--image=nginx:1', '--replicas=3'];
  t.match(await succeeds(t, kubectl, deployment), 'created');
  const spec = '{.spec.replicas} {.spec.selector.matchLabels.app} {.spec.template.spec.containers[0].image}';
  const got = ['get', 'deployments.apps', 'typed', '-o', `jsonpath=${spec}`];
  t.equal(await succeeds(t, kubectl, got), '3 typed nginx:1');
  t.match(await succeeds(t, kubectl, ['create', 'job', 'typed', '--image=nginx:1']), 'created');
  t.match(await succeeds(t, kubectl, ['api-resources']), /^configmaps +cm +v1 +true +ConfigMap$/m);
  t.match(await succeeds(t, kubectl, ['explain', 'pods']), /KIND: +Pod/);
}

async function execute(t: Test, server: ApiServer, kubectl: Kubectl): Promise<void> {
  t.match(await succeeds(t, kubectl, ['logs', 'web']), /^first line$/m);
  t.equal(await succeeds(t, kubectl, ['exec', 'web', '--', 'echo', 'hello']), 'hello\n');
  t.equal(await succeeds(t, kubectl, ['exec', '-i', 'web', '--', 'cat'], 'typed'), 'typed');
  const failed = await kubectl.run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
  t.match(failed, { code: 3, stdout: 'out\n', stderr: /^err\n/ }, 'output and exit code reach the user');
  const upgrade = server.requests
    .findLast(({ url }) => url.includes('/exec'))
    ?.headers.upgrade?.toLowerCase();
  const expected = kubectl.minor < FIRST_WITH_WEBSOCKET ? 'spdy/3.1' : 'websocket';
  t.match(upgrade, expected, 'exec uses the protocol of this kubectl');
}

async function reachIntoPods(t: Test, kubectl: Kubectl): Promise<void> {
  const content = randomBytes(300_000);
  writeFileSync(join(kubectl.folder, 'there'), content);
  await succeeds(t, kubectl, ['cp', 'there', 'web:/tmp/file']);
  await succeeds(t, kubectl, ['cp', 'web:/tmp/file', 'back']);
  t.ok(readFileSync(join(kubectl.folder, 'back')).equals(content), 'a copied file comes back unchanged');
  t.match(
    await succeeds(t, kubectl, ['attach', '-i', 'web'], 'typed\n'),
    /^typed$/m,
    'attach ends when stdin ends',
  );

  const forward = kubectl.start(['port-forward', 'pod/web', ':80']);
  const [line] = forward.stdout ? await once(forward.stdout, 'data') : [];
  const port = /127\.0\.0\.1:(\d+)/.exec(String(line))?.[1];
  const posted = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: content });
  t.ok(Buffer.from(await posted.arrayBuffer()).equals(content), 'a forwarded port carries bytes both ways');
  forward.kill();
  await once(forward, 'close');
}

async function follow(t: Test, server: ApiServer, kubectl: Kubectl, place: SetUp['place']): Promise<void> {
  const watch = kubectl.start(['get', 'cm', '-w', '--watch-only', '-o', 'name']);
  await server.arrival(({ url }) => url.includes('watch='));
  server.seed.configMap('seen', { a: 'b' }, place);
  const [seen] = watch.stdout ? await once(watch.stdout, 'data') : [];
  t.match(String(seen), 'configmap/seen', 'a watch shows a change as it happens');
  watch.kill();
  await once(watch, 'close');

  const logs = kubectl.start(['logs', '-f', 'web']);
  const [first] = logs.stdout ? await once(logs.stdout, 'data') : [];
  t.match(String(first), 'first line');
  server.seed.pod('web', place).append('second line');
  const [second] = logs.stdout ? await once(logs.stdout, 'data') : [];
  t.match(String(second), 'second line', 'a followed log shows a line as it is written');
  logs.kill();
  await once(logs, 'close');
}

/** With a tenant's own credential, Arktos denies an access review that names no tenant. */
async function askAboutOneself(t: Test, kubectl: Kubectl, flavour: Flavour): Promise<void> {
  const { stdout } = await kubectl.run(['auth', 'can-i', 'list', 'pods']);
  t.equal(stdout.trim(), flavour === 'arktos' ? 'no' : 'yes');
  if (flavour === 'kubernetes' && kubectl.minor >= FIRST_WITH_WHOAMI)
    t.match(
      await succeeds(t, kubectl, ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']),
      'admin',
    );
}
