/**
 * exec, cp, attach, logs and port-forward of kubectl through Stonegate: older versions use SPDY/3.1, newer
 * ones WebSocket.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { LoggedRequest } from '../support/apiserver/api-server.ts';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import {
  fails,
  type KubectlUsers,
  prints,
  startForKubectl,
  stop,
  succeeds,
} from '../support/kubectl-users.ts';

/** Minor versions of kubectl. */
const FIRST_EXEC_BY_WEBSOCKET = 30;
const FIRST_FORWARD_BY_WEBSOCKET = 31;
/** Port 7 of the stand-in's pods echoes what it receives. */
const ECHO = ':7';

const binaries = kubectlsOrSkip(t, 'kubectl and pods');
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)}`, async (t) => {
    const everybody = await startForKubectl(t);
    const { stonegate } = everybody;
    stonegate.log.append('first line');
    const alice = everybody.as(binary, stonegate.keystoneToken('alice'));
    const carol = everybody.as(binary, await stonegate.provider.idToken('carol'));

    await t.test('C105 output, input and exit code of a command are passed on', (t) =>
      execute(t, alice, carol),
    );
    await t.test('C070 C199 an upgrade reaches the API server as an upgrade, with the user’s identity', (t) =>
      upgradeAsOneself(t, everybody, alice),
    );
    await t.test('C105 a copied file comes back unchanged', (t) => copy(t, carol));
    await t.test('C105 attach ends when its input does', (t) => attach(t, alice));
    await t.test('C105 logs can be tailed and followed', (t) => logs(t, everybody, carol));
    await t.test(
      'C034 a POST through a forwarded port gets its whole response, and the connection closes',
      (t) => post(t, everybody, alice),
    );
    await t.test(
      'a user reaches the pod of their own tenant, not another tenant’s pod of the same name',
      (t) => reachOwnPodAlone(t, alice, everybody.as(binary, stonegate.keystoneToken('bob'))),
    );
    await t.test('C200 kubectl shows the API server’s own message if an upgrade is refused', (t) =>
      refuse(t, everybody, binary),
    );
    await t.test('a user who may only get pods/exec cannot open a shell by WebSocket', (t) =>
      refuseReaders(t, everybody, binary),
    );
  });

async function execute(t: Test, alice: Kubectl, carol: Kubectl) {
  t.equal(await succeeds(t, alice, 'exec web -- echo hello'), 'hello\n');
  t.equal(await succeeds(t, carol, 'exec -i web -- cat', 'typed'), 'typed');
  const large = 'all of it\n'.repeat(100_000);
  t.ok((await succeeds(t, alice, 'exec -i web -- cat', large)) === large, 'a megabyte is echoed');
  const failed = await alice.run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
  t.match(failed, { code: 3, stdout: 'out\n', stderr: /^err\n/ });
}

async function upgradeAsOneself(t: Test, { next, stonegate }: KubectlUsers, alice: Kubectl) {
  const arrived = next(isOf('exec'));
  await succeeds(t, alice, 'exec web -- true');
  const { method, url, headers, user } = await arrived;
  const spdy = alice.minor < FIRST_EXEC_BY_WEBSOCKET;
  t.match(url, /^\/api\/v1\/tenants\/acme\/namespaces\/default\/pods\/web\/exec\?/);
  t.match(
    { method, ...headers },
    {
      method: spdy ? 'POST' : 'GET',
      connection: 'Upgrade',
      upgrade: spdy ? 'SPDY/3.1' : 'websocket',
      'impersonate-user': 'acme:alice',
    },
  );
  const project = stonegate.keystone.directory.project('acme', 'web').id;
  t.match(user, {
    username: 'acme:alice',
    groups: [
      `keystone:project:${project}`,
      `keystone:project:${project}:role:member`,
      'system:authenticated',
    ],
    extra: { 'alpha.kubernetes.io/identity/roles': ['member'] },
  });
  t.notMatch(JSON.stringify(headers), stonegate.keystoneToken('alice'));
}

async function copy(t: Test, carol: Kubectl) {
  const content = randomBytes(300_000);
  writeFileSync(join(carol.folder, 'there'), content);
  await succeeds(t, carol, 'cp there web:/tmp/file');
  await succeeds(t, carol, 'cp web:/tmp/file back');
  t.ok(readFileSync(join(carol.folder, 'back')).equals(content));
}

async function attach(t: Test, alice: Kubectl) {
  t.match(await succeeds(t, alice, 'attach -i web', 'typed\n'), /^typed$/m);
}

async function logs(t: Test, { stonegate, next }: KubectlUsers, carol: Kubectl) {
  stonegate.log.append('second line');
  t.equal(await succeeds(t, carol, 'logs web --tail=1'), 'second line\n');
  const arrived = next(isOf('log'));
  const following = carol.start(['logs', '-f', 'web']);
  await prints(following, /^first line\nsecond line\n$/);
  const third = prints(following, /^third line\n$/);
  stonegate.log.append('third line');
  await third;
  await stop(following);
  t.equal(await (await arrived).ended, 'aborted', 'the request to the API server ends with kubectl');
}

async function post(t: Test, { next }: KubectlUsers, alice: Kubectl) {
  const arrived = next(isOf('portforward'));
  const { forwarding, port } = await forward(alice, ':80');
  const content = randomBytes(300_000);
  for (const connection of ['keep-alive', 'close', 'close']) {
    const url = `http://127.0.0.1:${port}/`;
    const posted = await fetch(url, { method: 'POST', body: content, headers: { connection } });
    t.ok(Buffer.from(await posted.arrayBuffer()).equals(content));
  }
  const { headers, ended } = await arrived;
  const spdy = alice.minor < FIRST_FORWARD_BY_WEBSOCKET;
  t.equal(headers.upgrade, spdy ? 'SPDY/3.1' : 'websocket');
  await stop(forwarding);
  t.equal(await ended, 'answered');
}

async function reachOwnPodAlone(t: Test, alice: Kubectl, bob: Kubectl) {
  writeFileSync(join(alice.folder, 'secret'), 'hers');
  await succeeds(t, alice, 'cp secret web:/secret');
  t.equal(await succeeds(t, alice, 'exec web -- cat /secret'), 'hers');
  t.match(await fails(t, bob, ['exec', 'web', '--', 'cat', '/secret']), 'No such file');
}

async function refuse(t: Test, { stonegate, newcomer, as }: KubectlUsers, binary: string) {
  const { seed } = stonegate.apiServer;
  seed.clusterRole('viewer', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }], { tenant: 'acme' });
  seed.clusterRoleBinding('viewers', 'viewer', ['user:acme:vera'], { tenant: 'acme' });
  const vera = as(binary, newcomer('vera'));
  t.match(
    await fails(t, vera, ['exec', 'web', '--', 'true']),
    /pods "web" is forbidden: User "acme:vera" cannot create resource "pods\/exec" in API group "" in the namespace "default"/,
  );
  t.match(
    await fails(t, vera, ['port-forward', 'pod/web', ECHO]),
    /User "acme:vera" cannot create resource "pods\/portforward"/,
  );
}

async function refuseReaders(t: Test, { stonegate, newcomer, as }: KubectlUsers, binary: string) {
  const { seed, requests } = stonegate.apiServer;
  const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods', 'pods/exec'] };
  seed.clusterRole('reader', [rule], { tenant: 'acme' });
  seed.clusterRoleBinding('readers', 'reader', ['user:acme:rudi'], { tenant: 'acme' });
  const rudi = as(binary, newcomer('rudi'));
  const before = requests.length;
  t.match(await fails(t, rudi, ['exec', 'web', '--', 'true']), /cannot create resource "pods\/exec"/);
  const opened = requests
    .slice(before)
    .filter(({ method, url }) => method === 'GET' && url.includes('/exec'));
  t.strictSame(opened, []);
}

const isOf =
  (subresource: string) =>
  ({ url }: LoggedRequest) =>
    url.includes(`/pods/web/${subresource}`);

async function forward(kubectl: Kubectl, ports: string) {
  const forwarding = kubectl.start(['port-forward', 'pod/web', ports]);
  const [, port] = await prints(forwarding, /127\.0\.0\.1:(\d+)/);
  return { forwarding, port: Number(port) };
}
