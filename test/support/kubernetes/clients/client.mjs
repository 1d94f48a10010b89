// Uses @kubernetes/client-node as JavaScript programs do, and prints the results as JSON.
//   client.mjs FOLDER_OF_THE_CLIENT KUBECONFIG NAMESPACE
import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';

const [folder, kubeconfig, namespace] = process.argv.slice(2);
const { AuthorizationV1Api, CoreV1Api, Exec, KubeConfig, Watch, makeInformer } = createRequire(
  `${folder}/package.json`,
)('@kubernetes/client-node');

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const saw = {};

const metadata = { name: 'by-javascript', labels: { from: 'javascript' } };
await core.createNamespacedConfigMap({ namespace, body: { metadata, data: { color: 'red' } } });
const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'from=javascript' });
saw.listed = list.items.map((item) => item.metadata.name);

// A watch: changes after the list.
const changes = [];
const watched = Promise.withResolvers();
const request = await new Watch(config).watch(
  `/api/v1/namespaces/${namespace}/configmaps`,
  { resourceVersion: list.metadata.resourceVersion, labelSelector: 'from=javascript' },
  (type, object) => {
    changes.push(`${type} ${object.data.color}`);
    if (type === 'DELETED') watched.resolve();
  },
  () => {},
);
const path = [{ op: 'replace', path: '/data/color', value: 'blue' }];
await core.patchNamespacedConfigMap({ namespace, name: 'by-javascript', body: path });

// An informer for the same objects.
const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
  core.listNamespacedConfigMap({ namespace }),
);
const informed = Promise.withResolvers();
informer.on(
  'add',
  (object) => object.metadata.name === 'by-javascript' && informed.resolve(object.data.color),
);
await informer.start();
saw.informed = await informed.promise;
await informer.stop();

await core.deleteNamespacedConfigMap({ namespace, name: 'by-javascript' });
await watched.promise;
request.abort();
saw.watched = changes;

const output = new PassThrough();
const done = Promise.withResolvers();
await new Exec(config).exec(
  namespace,
  'web',
  'web',
  ['echo', 'hello'],
  output,
  null,
  null,
  false,
  done.resolve,
);
await done.promise;
output.end();
saw.executed = await text(output);

const review = await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
  body: { spec: { resourceAttributes: { namespace, verb: 'delete', resource: 'pods' } } },
});
saw.allowed = review.status.allowed;

saw.refused = await core.listNode().then(
  () => 'nothing',
  (error) => JSON.parse(error.body).message,
);
console.log(JSON.stringify(saw));
process.exit(0);
