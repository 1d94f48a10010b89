/**
 * Lists and watches of all namespaces at a real kube-apiserver, many at a time: none is partial while the API
 * server restarts or rights and namespaces are deleted, and large ones succeed together.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { contentDigits, digitsIn } from '../../src/kubernetes/lists/shown-revision.ts';
import { eventually } from '../support/eventually.ts';
import { informer, missing, missingControllers } from '../support/kubernetes/programs.ts';
import { bind, RBAC } from '../support/kubernetes/rbac.ts';
import { runReflector } from '../support/kubernetes/reflector.ts';
import { storeOf } from '../support/kubernetes/run-informer.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';

const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = '/api/v1/configmaps';
const RESTARTS = 3;
const CLIENTS = 50;

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(2, '0')}`);

/** Alice's; bob of the same tenant, and carol of another one, have the first two. */
const PLACES = numbered('place', 20);
/** Dave's: of the first 20 the bindings are deleted, of the next 20 the namespaces. */
const DOOMED = numbered('doomed', 45);

interface ConfigMapList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
}

interface Place extends KubernetesSite {
  readonly tokens: Readonly<Record<'alice' | 'bob' | 'carol' | 'dave', string>>;
}

async function start(t: Test) {
  const site = await startKubernetesSite(t, {
    controllers: true,
    configuration: {
      access: { index: true, authorizers: ['Node', 'RBAC'] },
      limits: { streams: { perUser: 5_000 } },
    },
  });
  const { kubernetes, stonegate } = site;
  const rules = [rule('get', 'namespaces'), rule('get,list,watch', 'configmaps')];
  await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'reader' }, rules });
  const make = async (place: string, ...users: readonly string[]) => {
    await kubernetes.create(NAMESPACES, { metadata: { name: place } });
    const subjects = users.map((name) => `user:${name}` as const);
    await bind(kubernetes, { name: 'readers', namespace: place, role: 'reader', subjects });
    await create(site, place, 'small');
  };
  for (const [at, place] of PLACES.entries())
    await make(place, 'acme:alice', ...(at < 2 ? ['acme:bob', 'globex:carol'] : []));
  for (const place of DOOMED) await make(place, 'acme:dave');
  const tokens = {
    alice: stonegate.keystoneToken('alice'),
    bob: site.newcomer('bob'),
    carol: site.newcomer('carol', 'globex'),
    dave: site.newcomer('dave'),
  };
  for (const [token, count] of [
    [tokens.alice, PLACES.length],
    [tokens.bob, 2],
    [tokens.carol, 2],
    [tokens.dave, DOOMED.length],
  ] as const)
    await eventually(async () => (await namesIn(site, token))?.size === count);
  return { ...site, tokens };
}

function create({ kubernetes }: KubernetesSite, place: string, name: string, data?: object) {
  const metadata = { name, labels: { made: data === undefined ? 'small' : 'large' } };
  return kubernetes.create(`${NAMESPACES}/${place}/configmaps`, { metadata, ...(data && { data }) });
}

/** @returns undefined if the list is refused */
async function namesIn(
  { stonegate }: KubernetesSite,
  token: string,
  path = `${CONFIG_MAPS}?labelSelector=made%3Dsmall`,
): Promise<ReadonlySet<string> | undefined> {
  const { status, body } = await stonegate.ask(token, path);
  if (status !== 200) return undefined;
  const { items }: ConfigMapList = JSON.parse(body);
  return new Set(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
}

t.test('filtered lists at a real API server', { skip: missingControllers() }, async (t) => {
  const site = await start(t);
  await t.test('large lists of one tenant succeed together, and delay no others', (t) =>
    listTogether(t, site),
  );
  await t.test('stores are right after restarts of the API server, and no list was partial', (t) =>
    restart(t, site),
  );
  await t.test('no list is partial or refused while bindings and namespaces are deleted', (t) =>
    deleteMany(t, site),
  );
});

async function listTogether(t: Test, site: Place) {
  const { stonegate, kubernetes, tokens } = site;
  const data = { text: 'x'.repeat(200_000) };
  for (const place of PLACES) await create(site, place, 'large', data);
  const large = `${CONFIG_MAPS}?labelSelector=made%3Dlarge`;
  const all = PLACES.map((place) => `${place}/large`);
  await eventually(async () => (await namesIn(site, tokens.alice, large))?.size === all.length);
  const unread = await stonegate.open(tokens.alice, large);
  t.equal(unread.statusCode, 200);
  const beside = await Promise.all(Array.from({ length: 3 }, () => namesIn(site, tokens.alice, large)));
  const twelve = Promise.all(Array.from({ length: 12 }, () => namesIn(site, tokens.alice, large)));
  for (const token of [tokens.bob, tokens.carol])
    for (let at = 0; at < 5; at += 1) t.equal((await namesIn(site, token))?.size, 2);
  for (const names of [...beside, ...(await twelve)]) t.same([...(names ?? [])], all);
  unread.destroy();
  for (const place of PLACES) await kubernetes.admit('DELETE', `${NAMESPACES}/${place}/configmaps/large`);
}

async function restart(t: Test, site: Place) {
  const { stonegate, kubernetes, tokens } = site;
  const partial: number[] = [];
  const clients = Array.from({ length: CLIENTS }, () =>
    runReflector({
      client: stonegate,
      token: tokens.alice,
      path: `${CONFIG_MAPS}?labelSelector=made%3Dsmall`,
      onListed(names) {
        if (names.size < PLACES.length) partial.push(names.size);
      },
    }),
  );
  t.teardown(() => Promise.all(clients.map((client) => client.stop())));
  const kubeconfig = join(t.testdir(), 'kubeconfig');
  const server = { url: stonegate.url, ca: stonegate.authority.cert };
  await writeFile(kubeconfig, kubernetes.kubeconfig({ token: tokens.alice }, server));
  const informers = Array.from({ length: missing(informer()) === false ? 2 : 0 }, () =>
    storeOf(kubeconfig, 'v1/configmaps'),
  );
  t.teardown(() => Promise.all(informers.map((running) => running.stop())));
  const expected = PLACES.map((place) => `${place}/small`);
  const areRight = () =>
    clients.every(({ store, isWatching }) => isWatching && [...store].sort().join() === expected.join()) &&
    informers.every((running) => expected.every((name) => running.names().includes(name)));
  await eventually(areRight);
  for (let at = 1; at <= RESTARTS; at += 1) {
    await kubernetes.restart();
    for (const place of PLACES) await create(site, place, `after-${at}`);
    expected.push(...PLACES.map((place) => `${place}/after-${at}`));
    expected.sort();
    // The watches are of all namespaces: else the new objects would be missing.
    await eventually(areRight);
  }
  t.same(partial, []);
}

async function deleteMany(t: Test, site: Place) {
  const { kubernetes, stonegate, tokens } = site;
  const left = new Set(DOOMED);
  const refused: string[] = [];
  const partial: string[] = [];
  let lists = 0;
  let deletes: 'bindings' | 'namespaces' | undefined = 'bindings';
  const clients = Array.from({ length: 4 }, async () => {
    while (deletes !== undefined) {
      const { status, body } = await stonegate.ask(tokens.dave, `${CONFIG_MAPS}?labelSelector=made%3Dsmall`);
      lists += 1;
      if (status !== 200) {
        refused.push(`${status} ${body}`);
        continue;
      }
      const { items, metadata }: ConfigMapList = JSON.parse(body);
      const listed = new Set(items.map(({ metadata: { namespace } }) => namespace));
      // What is not deleted yet was permitted all the time.
      for (const place of left) if (!listed.has(place)) partial.push(place);
      // A watch from a revision with other digits would go on without what is missing. A namespace that is
      // being deleted is permitted, and may be empty.
      if (deletes === 'bindings' && digitsIn(metadata.resourceVersion) !== contentDigits(listed))
        partial.push(`${listed.size} namespaces, and the revision of others`);
    }
  });
  const doomed = DOOMED.slice(0, 40);
  for (const [at, place] of doomed.entries()) {
    left.delete(place);
    deletes = at < 20 ? 'bindings' : 'namespaces';
    const binding = `${RBAC}/namespaces/${place}/rolebindings/readers`;
    await kubernetes.admit('DELETE', deletes === 'bindings' ? binding : `${NAMESPACES}/${place}`);
    const seen = lists;
    await eventually(() => lists > seen + 4);
  }
  await eventually(async () => (await namesIn(site, tokens.dave))?.size === left.size);
  deletes = undefined;
  await Promise.all(clients);
  t.same(refused, []);
  t.same(partial, []);
}
