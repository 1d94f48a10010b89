/**
 * Users whom a policy lets into another tenant, against the whole program: what they can do there with
 * kubectl and open streams, and what the audit log and explanations say.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { explainWith } from '../../src/app/commands/explain.ts';
import { explain } from '../../src/cli/explain.ts';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { type CrossTenantOptions, prepareCrossTenant } from '../support/cross-tenant.ts';
import { eventually } from '../support/eventually.ts';
import { openExec } from '../support/open-exec.ts';
import { openRequest } from '../support/open-request.ts';
import { printedBy } from '../support/printed-io.ts';
import { serveTestbed } from '../support/stonegate.ts';
import { createTestbed } from '../support/testbed.ts';

const BELOW = '/tenants/globex';
const PODS = `${BELOW}/api/v1/namespaces/default/pods`;
const EXEC = `${PODS}/web/exec?command=cat&stdin=true&stdout=true`;
const SUBJECT = { tenant: 'acme', user: 'alice', space: 'globex' };
const READING = { ...SUBJECT, name: 'reading', readonly: true };
const SHELL = { ...SUBJECT, name: 'shell', apiGroup: '', resource: 'pods/exec' };

async function start(t: Test, options: CrossTenantOptions) {
  const folder = t.testdir({});
  const testbed = await createTestbed({ folder });
  const crossTenant = await prepareCrossTenant(testbed, options);
  const stonegate = await serveTestbed(t, testbed);
  const { destination } = stonegate;
  return { ...stonegate, folder, crossTenant, destination, alice: testbed.keystoneToken('alice') };
}

t.test('D330 when a policy is withdrawn, a guest’s watch, log and shell end within seconds', async (t) => {
  const { ask, app, alice, destination, crossTenant, audited } = await start(t, { abac: [READING, SHELL] });
  await eventually(async () => (await ask(alice, PODS)).status === 200);
  const open = (path: string) => openRequest(destination, alice, path);
  const watch = open(`${PODS}?watch=true`);
  const log = open(`${PODS}/web/log?follow=true`);
  const atHome = open('/api/v1/namespaces/default/pods?watch=true');
  for (const { head } of [watch, log, atHome]) t.equal((await head).statusCode, 200);
  await eventually(async () => (await ask(alice, EXEC, { method: 'POST' })).status !== 403);
  const shell = once(await openExec(t, destination, alice, 'websocket', EXEC), 'close');
  await crossTenant.configure({ abac: [] });
  await app.reload();
  t.match(await watch.answered, { status: 200, complete: true }, 'a watch ends cleanly');
  t.match(await log.answered, { status: 200, complete: false }, 'a followed log breaks off');
  await shell;
  t.equal((await ask(alice, PODS)).status, 403);
  t.notOk((await atHome.head).closed, 'a watch in the user’s own tenant continues');
  atHome.leave();
  const ended = (await audited()).filter(
    ({ annotations }) => annotations?.['stonegate.dev/ended'] === 'policy',
  );
  t.same(ended.map(({ annotations }) => annotations?.['stonegate.dev/policy']).sort(), [
    'abac:reading',
    'abac:reading',
    'abac:shell',
  ]);
  t.match(ended[0], {
    requestURI: /^\/tenants\/globex\//,
    user: { username: 'acme:alice' },
    impersonatedUser: { username: 'globex:guest:acme:alice' },
    annotations: { 'stonegate.dev/tenant': 'acme', 'stonegate.dev/entered-tenant': 'globex' },
  });
});

const [KUBECTL] = findKubectls();

t.test('kubectl works in another tenant', { skip: KUBECTL === undefined && NO_KUBECTL }, async (t) => {
  const { ask, alice, url, authority } = await start(t, { abac: [READING] });
  await eventually(async () => (await ask(alice, PODS)).status === 200);
  const kubectl = createKubectl(t, KUBECTL ?? '', {
    server: `${url}${BELOW}`,
    ca: authority.cert,
    token: alice,
  });
  const inDefault = (...words: string[]) => kubectl.run([...words, '-n', 'default']);
  t.match(await inDefault('get', 'pods', '-o', 'name'), { code: 0, stdout: /pod\/web/ });
  t.match(await kubectl.run('get pods -A -o name'), { code: 0 });
  t.match(await kubectl.run('api-resources -o name'), { code: 0, stdout: /deployments\.apps/ });
  t.match(await inDefault('auth', 'can-i', 'get', 'pods'), { code: 0, stdout: /^yes/ });
  t.match(await inDefault('auth', 'can-i', 'delete', 'pods'), { code: 1, stdout: /^no/ });
  t.match((await inDefault('delete', 'pod', 'web')).stderr, /globex:guest:acme:alice.*cannot delete/);
  t.match((await inDefault('get', 'pods', '--as', 'bob')).stderr, /impersonation is refused/);
  t.match((await inDefault('get', 'secrets')).stderr, /Forbidden/);
});

t.test('an explanation names the policy that lets a user in, or says that there is none', async (t) => {
  const { ask, alice, folder, configFile } = await start(t, { abac: [READING] });
  await eventually(async () => (await ask(alice, PODS)).status === 200);
  await writeFile(join(folder, 'token'), alice);
  const explained = async (path: string) => {
    const flags = ['--config', configFile, '--token-file', join(folder, 'token')];
    const { stdout, stderr } = await printedBy(explain, ['--path', path, ...flags], explainWith);
    return `${stdout}${stderr}`;
  };
  t.match(await explained(PODS), /the policy abac:reading .* lets them into the tenant "globex"/);
  t.match(
    await explained(`${BELOW}/api/v1/namespaces/default/secrets`),
    /by abac:reading, none of which allows this/,
  );
  t.match(
    await explained('/tenants/nowhere/api/v1/namespaces/default/pods'),
    /no policy lets alice of acme into the tenant nowhere/,
  );
});
