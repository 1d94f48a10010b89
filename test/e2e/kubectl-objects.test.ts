import t, { type Test } from 'tap';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import {
  creates,
  type KubectlUsers,
  prints,
  startForKubectl,
  stop,
  succeeds,
} from '../support/kubectl-users.ts';

const WIRES = {
  'HTTP/2': {},
  'HTTP/1.1, if HTTP/2 is disabled in the client': { DISABLE_HTTP2: '1' },
} as const;

const binaries = kubectlsOrSkip(t, 'kubectl and objects');
if (binaries.length > 0)
  for (const [wire, environment] of Object.entries(WIRES))
    t.test(`over ${wire}`, async (t) => {
      const everybody = await startForKubectl(t);
      for (const binary of binaries)
        await t.test(`${binary.split('/').at(-1)}`, async (t) => {
          const { stonegate } = everybody;
          const alice = everybody.as(binary, stonegate.keystoneToken('alice'), environment);
          const bob = everybody.as(binary, stonegate.keystoneToken('bob'), environment);
          const carol = everybody.as(binary, await stonegate.provider.idToken('carol'), environment);
          await read(t, alice, carol);
          await write(t, alice);
          await isolate(t, alice, bob, carol);
          await watch(t, everybody, carol);
        });
    });

async function read(t: Test, alice: Kubectl, carol: Kubectl) {
  t.match(await succeeds(t, alice, 'get pods'), /NAME +HASHKEY +READY.*\nweb /, 'a list is a table');
  t.match(await succeeds(t, carol, 'get pods,cm -A'), /default +configmap\/settings/);
  t.match(await succeeds(t, alice, 'get cm settings -o yaml'), /^ {2}owner: acme$/m);
  t.match(await succeeds(t, alice, 'describe cm settings'), /owner:\n----\nacme/);
}

const manifest = (value: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cm' }, data: { value } });

async function write(t: Test, alice: Kubectl) {
  const value = () => succeeds(t, alice, '-n team get cm cm -o jsonpath={.data.value}');
  const change = (words: readonly string[], stdin?: string) =>
    succeeds(t, alice, ['-n', 'team', ...words], stdin);
  t.match(await creates(t, alice, 'namespace team'), 'namespace/team created');
  t.match(await change(['create', '-f', '-'], manifest('0')), 'configmap/cm created');
  t.match(await change(['delete', 'cm', 'cm']), 'deleted');
  t.match(await change(['apply', '-f', '-'], manifest('1')), 'configmap/cm created');
  t.match(await change(['apply', '-f', '-'], manifest('2')), 'configmap/cm configured');
  t.equal(await value(), '2');
  const ofServer = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  t.match(await change(ofServer, manifest('3')), 'configmap/cm serverside-applied');
  t.equal(await value(), '3');
  t.match(await change(['patch', 'cm', 'cm', '-p', '{"data":{"value":"4"}}']), 'configmap/cm patched');
  const operations = '[{"op":"replace","path":"/data/value","value":"5"}]';
  t.match(await change(['patch', 'cm', 'cm', '--type=json', '-p', operations]), 'configmap/cm patched');
  t.equal(await value(), '5');
  t.match(await creates(t, alice, '-n team cm typed --from-literal=a=b'), 'configmap/typed created');
  t.match(
    await change(['delete', 'cm', '--all']),
    /"cm" deleted.*\n.*"typed" deleted/,
    'a whole collection is deleted',
  );
  t.equal(await change(['get', 'cm', '-o', 'name']), '');
  t.match(await succeeds(t, alice, 'delete namespace team'), 'deleted');
}

/** Both tenants have a ConfigMap of this name; changing one does not change the other. */
async function isolate(t: Test, alice: Kubectl, bob: Kubectl, carol: Kubectl) {
  const marks = (kubectl: Kubectl) =>
    succeeds(t, kubectl, 'get cm settings -o jsonpath={.data.owner}/{.metadata.labels.mark}');
  await succeeds(t, alice, 'label cm settings mark=hers');
  t.equal(await marks(bob), 'globex/', 'the other tenant has its own object of the same name');
  t.equal(
    await marks(carol),
    'acme/hers',
    'all users of the tenant see the same, whatever authenticates them',
  );
  await succeeds(t, bob, 'delete cm settings');
  t.equal(await marks(alice), 'acme/hers', 'a deletion does not affect another tenant');
  await creates(t, bob, 'cm settings --from-literal=owner=globex');
  await succeeds(t, alice, 'label cm settings mark-');
}

async function watch(t: Test, { stonegate, next }: KubectlUsers, carol: Kubectl) {
  const arrived = next(({ url }) => url.includes('watch='));
  const watching = carol.start(['get', 'cm', '-w', '--watch-only', '-o', 'name']);
  const { url } = await arrived;
  t.match(url, /^\/api\/v1\/tenants\/acme\/namespaces\/default\/configmaps\?/);
  const name = `seen-${carol.minor}`;
  const seen = prints(watching, new RegExp(`configmap/${name}\n`));
  stonegate.apiServer.seed.configMap(name, {}, { tenant: 'globex' });
  stonegate.apiServer.seed.configMap(name, {}, { tenant: 'acme' });
  t.equal(
    (await seen).input,
    `configmap/${name}\n`,
    'a change is shown when it happens, and none of another tenant',
  );
  await stop(watching);
}
