/**
 * Lists and watches through Stonegate are byte for byte those of a real kube-apiserver, however large and in
 * whatever encoding.
 */
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';

import { mapWithConcurrency } from '../../src/lib/concurrency.ts';
import type { Ask } from '../support/https-client.ts';
import { missingKubernetes, NEWEST, OLDEST, type Release } from '../support/kubernetes/programs.ts';
import { sameResponse } from '../support/kubernetes/same-response.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const OBJECTS = 1_500;
const CONFIG_MAPS = '/api/v1/namespaces/acme/configmaps';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

type Both = Awaited<ReturnType<typeof start>>;

/** Releases before 1.34 have it, but not by default. */
const WATCH_LIST = ['--feature-gates=WatchList=true'];

async function start(t: Test, release: Release, flags: readonly string[] = []) {
  const site = await startKubernetesSite(t, { release, flags: () => flags });
  await site.letWork('acme', 'acme:alice');
  const token = site.stonegate.keystoneToken('alice');
  const alice = await site.direct(token);
  return {
    ...site,
    token,
    /** Compares the responses through Stonegate and without it. @returns Stonegate's response */
    same: (t: Test, path: string, options?: Ask) =>
      sameResponse(t, site, { token, credential: alice }, path, options),
  };
}

async function fill({ kubernetes }: Both) {
  const data = { text: 'x'.repeat(900) };
  const names = Array.from({ length: OBJECTS }, (_, i) => `item-${String(i).padStart(5, '0')}`);
  await mapWithConcurrency(names, 16, (name) =>
    kubernetes.create(CONFIG_MAPS, { metadata: { name, labels: { half: `${name.length % 2}` } }, data }),
  );
}

t.test('lists', { skip: missingKubernetes() }, async (t) => {
  const both = await start(t, NEWEST);
  await fill(both);
  const { same } = both;

  await t.test('a large list, whole', async (t) => {
    const reply = await same(t, CONFIG_MAPS);
    t.ok(reply.bytes.length > OBJECTS * 1_000);
    await same(t, `${CONFIG_MAPS}?resourceVersion=0`);
    await same(t, `${CONFIG_MAPS}?labelSelector=half%3D0&fieldSelector=metadata.name%3Ditem-00007`);
  });

  for (const accept of [TABLE, METADATA, PROTOBUF, 'application/cbor', 'application/yaml', 'text/html'])
    await t.test(`a list as ${accept}`, async (t) => {
      const headers = { accept };
      await same(t, CONFIG_MAPS, { headers });
      await same(t, `${CONFIG_MAPS}/item-00001`, { headers });
      await same(t, `${CONFIG_MAPS}/absent`, { headers });
    });

  await t.test('a list compressed by the API server', async (t) => {
    const reply = await same(t, CONFIG_MAPS, { headers: { 'accept-encoding': 'gzip' } });
    t.equal(reply.headers['content-encoding'], 'gzip');
  });

  await t.test('discovery and OpenAPI are the cluster’s own', async (t) => {
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    await same(t, '/api', { headers: { accept: aggregated } });
    for (const path of ['/api', '/api/v1', '/apis/apps/v1', '/version', '/openapi/v3/apis/apps/v1'])
      await same(t, path);
    // The lists of groups have Stonegate's own group too: see kubernetes-own-api.test.ts.
    await same(t, '/apis', { headers: { accept: PROTOBUF } });
    await same(t, '/openapi/v2', {
      headers: { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
    });
  });

  await t.test('a protobuf client can write, and review its access', async (t) => {
    const { stonegate, token } = both;
    const path = `${CONFIG_MAPS}/item-00002`;
    const { bytes } = await stonegate.ask(token, path, { headers: { accept: PROTOBUF } });
    const headers = { accept: PROTOBUF, 'content-type': PROTOBUF };
    const put = await stonegate.ask(token, path, { method: 'PUT', headers, body: bytes });
    t.equal(put.status, 200);
    t.equal(put.headers['content-type'], PROTOBUF);
    t.ok(put.bytes.equals(bytes), 'unchanged');
    // A SelfSubjectAccessReview for `get pods` in acme, as client-go encodes it.
    const review = await stonegate.ask(token, '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      method: 'POST',
      headers,
      body: accessReview({ namespace: 'acme', verb: 'get', resource: 'pods' }),
    });
    t.equal(review.status, 201);
  });
});

/** Encodes only what is needed of `runtime.Unknown` and `SelfSubjectAccessReview`; all strings are short. */
function accessReview(asked: { namespace: string; verb: string; resource: string }) {
  const field = (number: number, value: Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);
  const text = (number: number, value: string) => field(number, Buffer.from(value));
  const attributes = [text(1, asked.namespace), text(2, asked.verb), text(5, asked.resource)];
  const type = [text(1, 'authorization.k8s.io/v1'), text(2, 'SelfSubjectAccessReview')];
  const spec = field(1, Buffer.concat(attributes));
  return Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat(type)),
    field(2, Buffer.concat([field(1, Buffer.alloc(0)), field(2, spec)])),
  ]);
}

for (const release of [OLDEST, NEWEST] as const)
  t.test(`watches of a kube-apiserver of ${release}`, { skip: missingKubernetes(release) }, async (t) => {
    const both = await start(t, release, WATCH_LIST);
    const { kubernetes, stonegate, token, same } = both;
    await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'first' } });

    /** The events of a watch, as they come. */
    async function* watch(query: string): AsyncGenerator<string> {
      const response = await stonegate.open(token, `${CONFIG_MAPS}?watch=1&${query}`);
      try {
        for await (const line of createInterface({ input: response })) {
          const { type, object }: WatchEvent = JSON.parse(line);
          const { name = '', annotations = {} } = object.metadata;
          yield `${type} ${'k8s.io/initial-events-end' in annotations ? 'initial-events-end' : name}`;
        }
      } finally {
        response.destroy();
      }
    }

    await t.test(
      'WatchList sends the existing objects, then a bookmark that ends them, then changes',
      async (t) => {
        const query = 'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
        const watching = watch(query);
        t.equal((await watching.next()).value, 'ADDED first');
        t.equal((await watching.next()).value, 'BOOKMARK initial-events-end');
        await kubernetes.create(CONFIG_MAPS, { metadata: { name: 'third' } });
        t.equal((await watching.next()).value, 'ADDED third');
        await watching.return(undefined);
      },
    );

    await t.test(
      'a watch that the API server refuses or ends is refused or ended in the same way',
      async (t) => {
        await same(t, `${CONFIG_MAPS}?watch=1&sendInitialEvents=true`);
        await same(t, `${CONFIG_MAPS}?watch=1&resourceVersion=nonsense`);
        await same(t, `${CONFIG_MAPS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dfirst`);
        await same(t, '/api/v1/namespaces/default/secrets?watch=1');
      },
    );
  });

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: {
      readonly name?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  };
}
