/**
 * Lists and watches of all namespaces at a real kube-apiserver, by users with rights in some of them: a real
 * kubectl shows what the API server would show if it allowed the request.
 */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { createKubectl, findKubectls, type Kubectl, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { followOutput } from '../support/follow-output.ts';
import { posted, type Reply } from '../support/https-client.ts';
import { missingKubernetes, NEWEST, OLDEST, type Release } from '../support/kubernetes/programs.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';

const binaries = findKubectls();
const CONFIG_MAPS = '/api/v1/configmaps';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const PLACES = ['place-a', 'place-b', 'place-c'] as const;

interface Place extends KubernetesSite {
  readonly token: string;
  kubectl(binary: string): Kubectl;
  /** `namespace/name` of each object in the list at the path. */
  names(path: string): Promise<string[]>;
}

/** Alice works in three namespaces, each with three config maps `x0` to `x2`; in `other` she does not. */
async function start(t: Test, release: Release): Promise<Place> {
  const site = await startKubernetesSite(t, {
    release,
    configuration: {
      access: { index: true, authorizers: ['Node', 'RBAC'] },
      authentication: { tokenReview: { tenant: 'robots' } },
    },
  });
  const { kubernetes, stonegate } = site;
  for (const place of [...PLACES, 'other'])
    await site.letWork(place, place === 'other' ? 'acme:bob' : 'acme:alice');
  for (const place of [...PLACES, 'other'])
    for (const at of [0, 1, 2])
      await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name: `x${at}` } });
  const token = stonegate.keystoneToken('alice');
  await eventually(async () => (await stonegate.ask(token, CONFIG_MAPS)).status === 200);
  await eventually(async () => (await stonegate.ask(token, `${CONFIG_MAPS}?limit=1`)).status === 200);
  return {
    ...site,
    token,
    kubectl: (binary) =>
      createKubectl(t, binary, { server: stonegate.url, ca: stonegate.authority.cert, token }),
    async names(path) {
      const list: ConfigMapList = JSON.parse((await stonegate.ask(token, path)).body);
      return list.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    },
  };
}

interface ConfigMapList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

/** All objects that alice may see, in the order of a list. */
const ALL = PLACES.flatMap((place) => ['x0', 'x1', 'x2'].map((name) => `${place}/${name}`));
const SELECTED = 'labelSelector=!nothing&fieldSelector=metadata.name!%3Dkube-root-ca.crt';

for (const release of [OLDEST, NEWEST] as const)
  t.test(`lists of all namespaces at ${release}`, { skip: missingKubernetes(release) }, async (t) => {
    const site = await start(t, release);
    const { stonegate, kubernetes, token, names } = site;

    await t.test(
      'D020, D022: a list contains every object once, at one revision, whatever the page size',
      async (t) => {
        t.same(await names(`${CONFIG_MAPS}?${SELECTED}`), ALL);
        for (const limit of [1, 2, 4, 100]) {
          const found: string[] = [];
          const revisions = new Set<string>();
          let more: string | undefined = '';
          while (more !== undefined) {
            const path = `${CONFIG_MAPS}?${SELECTED}&limit=${limit}&continue=${more}`;
            const list: ConfigMapList = JSON.parse((await stonegate.ask(token, path)).body);
            found.push(...list.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
            revisions.add(list.metadata.resourceVersion);
            more = list.metadata.continue;
            // This object is not in the list, which is of an earlier revision.
            await kubernetes.create('/api/v1/namespaces/place-c/configmaps', {
              metadata: { generateName: 'later-' },
            });
          }
          t.same(
            found.filter((name) => !name.includes('later-')),
            ALL,
            `limit ${limit}`,
          );
          t.equal(revisions.size, 1);
        }
      },
    );

    await t.test(
      'D021, D029: cluster-scoped kinds, deletions, and users without rights get the API server’s 403',
      async (t) => {
        for (const path of ['/api/v1/nodes', '/apis/storage.k8s.io/v1/storageclasses'])
          t.match(await stonegate.ask(token, path), { status: 403, body: /at the cluster scope/ });
        const deletion = await stonegate.ask(token, CONFIG_MAPS, { method: 'DELETE' });
        t.notOk([200, 202].includes(deletion.status));
        const outsider = site.newcomer('outsider');
        t.match(await stonegate.ask(outsider, CONFIG_MAPS), { status: 403, body: /at the cluster scope/ });
      },
    );

    await t.test('a list can be a Table or metadata alone', async (t) => {
      const table: { columnDefinitions: unknown[]; rows: unknown[] } = JSON.parse(
        (await stonegate.ask(token, `${CONFIG_MAPS}?${SELECTED}&limit=5`, { headers: { accept: TABLE } }))
          .body,
      );
      t.ok(table.columnDefinitions.length > 0);
      t.equal(table.rows.length, 5);
      const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
      t.match(JSON.parse((await stonegate.ask(token, CONFIG_MAPS, { headers: { accept } })).body), {
        kind: 'PartialObjectMetadataList',
      });
      const protobuf = { headers: { accept: 'application/vnd.kubernetes.protobuf' } };
      t.equal((await stonegate.ask(token, CONFIG_MAPS, protobuf)).status, 406);
    });

    await t.test(
      'a revision or selector that the API server refuses is refused in its own words',
      async (t) => {
        const query = 'resourceVersion=999999999&resourceVersionMatch=Exact';
        const ours = await stonegate.ask(token, `${CONFIG_MAPS}?${query}`);
        const theirs = await stonegate.ask(token, `/api/v1/namespaces/place-a/configmaps?${query}`);
        const comparable = ({ status, body }: Reply) => [status, body.replace(/current: \d+/, '')];
        t.same(comparable(ours), comparable(theirs));
        t.equal((await stonegate.ask(token, `${CONFIG_MAPS}?labelSelector=%3D%3D`)).status, 400);
      },
    );

    await t.test('D018: a response made of compressed parts is what its headers say', async (t) => {
      const gzip = { headers: { 'accept-encoding': 'gzip' } };
      // The API server compresses responses larger than 128 KiB.
      const data = { text: 'x'.repeat(200_000) };
      const metadata = { name: 'large', labels: { size: 'large' } };
      for (const place of PLACES)
        await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata, data });
      const query = 'labelSelector=size%3Dlarge';
      const part = await kubernetes.ask(kubernetes.admin, `${CONFIG_MAPS}?${query}`, gzip);
      t.equal(part.headers['content-encoding'], 'gzip', 'the API server compresses for this client');
      for (const path of [`${CONFIG_MAPS}?${query}`, '/api/v1/namespaces'] as const) {
        const { status, headers, bytes } = await stonegate.ask(token, path, gzip);
        t.same([status, headers['stonegate-filtered']], [200, 'rbac']);
        t.equal(headers['content-encoding'], undefined);
        t.equal(Number(headers['content-length'] ?? bytes.length), bytes.length);
        const { items }: ConfigMapList = JSON.parse(bytes.toString());
        t.equal(items.length, PLACES.length);
      }
    });

    if (release === NEWEST) {
      const noKubectl = binaries.length === 0 && NO_KUBECTL;
      await t.test('kubectl -A', { skip: noKubectl }, (t) => useKubectl(t, site));
      await t.test('custom resources', { skip: noKubectl }, (t) => useCustomResources(t, site));
      // This must be last, since it revokes rights.
      await t.test('D038: lists and watches follow revoked and new rights', (t) => revoke(t, site));
    }
  });

async function useKubectl(t: Test, site: Place) {
  const { kubernetes } = site;
  const pod = {
    spec: { automountServiceAccountToken: false, containers: [{ name: 'web', image: 'nginx' }] },
  };
  for (const place of PLACES)
    await kubernetes.create(`/api/v1/namespaces/${place}/pods`, { metadata: { name: 'web' }, ...pod });
  for (const binary of binaries) {
    const kubectl = site.kubectl(binary);
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const rows = async (...words: string[]) => {
        const { code, stdout, stderr } = await kubectl.run(words);
        t.match([code, stderr], [0, ''], words.join(' '));
        return stdout
          .trim()
          .split('\n')
          .map((row) => row.split(/ +/));
      };
      const [header, ...pods] = await rows('get', 'pods', '-A');
      t.match(header, ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
      t.same(
        pods.map((row) => row.slice(0, 2)),
        PLACES.map((place) => [place, 'web']),
      );
      t.ok((await rows('get', 'pods', '-A', '-o', 'wide'))[0]?.includes('NODE'));
      const maps = await rows('get', 'configmaps', '-A', '--chunk-size=2', '--no-headers');
      t.same(
        maps.map(([place]) => place).filter((place) => place === 'other'),
        [],
      );
      t.equal(
        new Set(maps.map((row) => row.slice(0, 2).join('/'))).size,
        maps.length,
        'no object is shown twice',
      );
      t.same((await rows('get', 'pods', '-A', '-o', 'name')).length, 3);
      const yaml = await kubectl.run('get pods -A -o yaml');
      t.match(yaml.stdout, /kind: List/);
      const nodes = await kubectl.run('get nodes');
      t.match(nodes, { code: 1, stderr: /Forbidden/ });
    });

    await t.test(`${binary.split('/').at(-1)} -A -w`, async (t) => {
      const watch = followOutput(kubectl.start('get configmaps -A -w --no-headers'));
      t.teardown(() => watch.stop());
      await watch.until((shown) => /place-c +x2/.test(shown));
      const name = `while-${kubectl.minor}`;
      for (const place of ['place-c', 'other', 'place-a'])
        await kubernetes.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name } });
      await watch.until((shown) =>
        [`place-c +${name}`, `place-a +${name}`].every((row) => new RegExp(row).test(shown)),
      );
      t.notMatch(watch.printed, /^other/m);
    });
  }
}

async function useCustomResources(t: Test, site: Place) {
  const { kubernetes } = site;
  await kubernetes.create(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    parse(`
    metadata: {name: gadgets.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {plural: gadgets, kind: Gadget}
      versions:
        - name: v1
          served: true
          storage: true
          schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`),
  );
  const gadget = { apiVersion: 'example.com/v1', kind: 'Gadget', size: 9007199254740993n };
  const body = JSON.stringify({ ...gadget, size: 0, metadata: { name: 'g' } }).replace(
    '"size":0',
    '"size":9007199254740993',
  );
  for (const place of PLACES)
    await eventually(async () => {
      const path = `/apis/example.com/v1/namespaces/${place}/gadgets`;
      return [201, 409].includes((await kubernetes.ask(kubernetes.admin, path, posted(body))).status);
    });
  const reply = await site.stonegate.ask(site.token, '/apis/example.com/v1/gadgets');
  t.equal(reply.status, 200);
  t.equal(reply.body.match(/"size":9007199254740993\b/g)?.length, 3, 'numbers beyond 2^53 are exact');
  for (const binary of binaries) {
    const { stdout } = await site.kubectl(binary).run(['get', 'gadgets', '-A', '--no-headers']);
    t.same(
      stdout
        .trim()
        .split('\n')
        .map((row) => row.split(/ +/)[0]),
      PLACES,
    );
  }
}

async function revoke(t: Test, site: Place) {
  const { stonegate, kubernetes, token, newcomer, letWork } = site;
  const watching = await stonegate.open(token, `${CONFIG_MAPS}?watch=1`);
  let text = '';
  watching.on('data', (piece) => {
    text += String(piece);
  });
  await eventually(() => text.includes('"place-c"'));
  await kubernetes.admit('DELETE', '/apis/rbac.authorization.k8s.io/v1/namespaces/place-b/rolebindings');
  await eventually(() => /"type":"ERROR".*"code":410/.test(text));
  const list: ConfigMapList = JSON.parse((await stonegate.ask(token, CONFIG_MAPS)).body);
  t.same([...new Set(list.items.map(({ metadata }) => metadata.namespace))], ['place-a', 'place-c']);
  const new_ = newcomer('newcomer');
  t.equal((await stonegate.ask(new_, CONFIG_MAPS)).status, 403);
  await letWork('place-a', 'acme:newcomer');
  await eventually(async () => (await stonegate.ask(new_, CONFIG_MAPS)).status === 200);
}
