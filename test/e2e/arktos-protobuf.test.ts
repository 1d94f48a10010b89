import t from 'tap';
import { findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { asGoReads, KUBECTL_REQUESTS } from '../support/kubectl-protobuf.ts';
import { creates, startForKubectl, succeeds } from '../support/kubectl-users.ts';
import { rows } from '../support/rows.ts';
import { startStonegate } from '../support/stonegate.ts';

const newest = findKubectls().at(-1);

/** Fields that the API server adds to an object. */
const ADDED = /^(?:uid|hashKey|resourceVersion|creationTimestamp|startedAt|clusterIP|nodePort|selfLink)$/;
const asSent = (object: string): unknown =>
  asGoReads(JSON.parse(object, (key, value) => (ADDED.test(key) ? undefined : value)));

/** Arktos serves neither `autoscaling/v2` nor `policy/v1`, and priority classes to no tenant. */
const UNSTORED = /\/(?:self\w+reviews|token|autoscaling\/v2\/.*|policy\/v1\/.*|priorityclasses)$/;

/** Arguments of `kubectl create`, for kinds that Arktos serves in the version that kubectl sends. */
const CREATED = rows(`
namespace/typed | namespace typed
configmap/typed | configmap typed --from-literal=a=b --from-literal=empty=
secret/typed | secret generic typed --from-literal=password=s3cr3t
secret/pull | secret docker-registry pull --docker-username=u --docker-password=p
serviceaccount/typed | serviceaccount typed
role/typed | role typed --verb=get,list --resource=pods,deployments.apps
rolebinding/typed | rolebinding typed --role=typed --user=carol
clusterrole/typed | clusterrole typed --verb=get --resource=pods
clusterrolebinding/typed | clusterrolebinding typed --clusterrole=typed --group=devs
resourcequota/typed | quota typed --hard=pods=3,requests.cpu=1500m
deployment/typed | deployment typed --image=nginx --replicas=2 --port=80
job/typed | job typed --image=busybox
service/typed | service clusterip typed --tcp=80:http
service/ext | service externalname ext --external-name=example.org`);

t.test('the newest kubectl', { skip: newest === undefined && NO_KUBECTL }, async (t) => {
  const { stonegate, as } = await startForKubectl(t);
  const alice = as(newest ?? '', stonegate.keystoneToken('alice'));

  await t.test('reads JSON', async (t) => {
    t.match(await succeeds(t, alice, 'describe pod web'), /Image: +nginx/);
    t.match(await succeeds(t, alice, 'auth can-i get pods'), 'yes');
  });

  for (const [name, words] of CREATED)
    await t.test(`creates the same ${name} directly as from the manifest that it prints`, async (t) => {
      const stored = () => succeeds(t, alice, `get ${name} -o json`);
      await succeeds(t, alice, `create ${words}`);
      const created = await stored();
      await succeeds(t, alice, `delete ${name}`);
      await creates(t, alice, words);
      t.strictSame(asSent(created), asSent(await stored()));
    });

  await t.test(
    'scales from a known number of replicas: the Scale that it writes has no tenant',
    async (t) => {
      await succeeds(t, alice, 'scale deployment/typed --current-replicas=2 --replicas=5');
      const replicas = ['get', 'deployment/typed', '-o', 'jsonpath={.spec.replicas}'];
      t.equal(await succeeds(t, alice, replicas), '5');
    },
  );

  await t.test('creates an autoscaler, and copies a pod to debug it', async (t) => {
    const bounds = ['--min=1', '--max=3', '--cpu=80%'];
    await succeeds(t, alice, ['autoscale', 'deployment', 'typed', ...bounds]);
    await succeeds(t, alice, 'debug web --image=busybox --copy-to=web-debug');
    t.match(await succeeds(t, alice, 'get pod web-debug -o name'), 'pod/web-debug');
  });
});

t.test('requests of kubectl 1.33', async (t) => {
  const stonegate = await startStonegate(t);
  const { apiServer, ask } = stonegate;
  const alice = stonegate.keystoneToken('alice');
  const post = (path: string, type: string, body: string | Buffer) =>
    ask(alice, path, { method: 'POST', headers: { 'content-type': type }, body });

  for (const { command, path, body, object } of KUBECTL_REQUESTS.filter((one) => !UNSTORED.test(one.path)))
    await t.test(`${command}: protobuf stores the same object as JSON`, async (t) => {
      const fromProtobuf = await post(path, 'application/vnd.kubernetes.protobuf', body);
      t.equal(apiServer.requests.at(-1)?.headers['content-type'], 'application/json');
      const { name } = JSON.parse(fromProtobuf.body).metadata;
      await ask(alice, `${path}/${name}`, { method: 'DELETE' });
      const fromJSON = await post(path, 'application/json', JSON.stringify(object));
      t.strictSame([fromProtobuf.status, fromJSON.status], [201, 201]);
      t.strictSame(asSent(fromProtobuf.body), asSent(fromJSON.body));
    });
});
