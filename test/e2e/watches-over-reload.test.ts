/**
 * What Stonegate's own watches (filtered namespaces, all namespaces) do over a reload, as the documentation
 * promises: they end cleanly, and a client that resumes misses nothing.
 */
import type { IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';

const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = '/api/v1/configmaps';
const ACCESS = { index: true, authorizers: ['Node', 'RBAC'] };

function follow(t: Test, response: IncomingMessage) {
  t.teardown(() => response.destroy());
  let [text, ended, broken] = ['', false, false];
  response.on('data', (piece) => {
    text += String(piece);
  });
  response.on('end', () => {
    ended = true;
  });
  response.on('error', () => {
    broken = true;
  });
  return {
    /** As `ADDED web`, or `ERROR 410`. */
    get events() {
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const { type, object } = JSON.parse(line);
          return `${type} ${object.metadata?.name ?? object.code ?? ''}`.trim();
        });
    },
    get ended() {
      return ended;
    },
    /** Whether the response broke off. */
    get broken() {
      return broken;
    },
  };
}

/** alice may do everything in the namespace `acme`, and sees no other. */
async function start(t: Test) {
  const stonegate = await startStonegate(t, { mode: 'shared', configuration: { access: ACCESS } });
  const alice = stonegate.keystoneToken('alice');
  await eventually(async () => (await stonegate.ask(alice, NAMESPACES)).status === 200);
  return { ...stonegate, alice };
}

async function revisions({ ask, alice }: RunningStonegate & { readonly alice: string }) {
  const of = async (path: string) => {
    const { metadata } = (await ask(alice, path)).json();
    return String(Object(metadata).resourceVersion);
  };
  return { namespaces: await of(NAMESPACES), configMaps: await of(CONFIG_MAPS) };
}

async function openAll(t: Test, site: RunningStonegate & { readonly alice: string }) {
  const { namespaces, configMaps } = await revisions(site);
  const open = async (path: string) => follow(t, await site.open(site.alice, path));
  return {
    namespaces: await open(`${NAMESPACES}?watch=1&resourceVersion=${namespaces}`),
    everywhere: await open(`${CONFIG_MAPS}?watch=1&resourceVersion=${configMaps}`),
  };
}

t.test(
  'a reload that leaves the index unchanged ends watches cleanly; resumed, they miss nothing',
  async (t) => {
    const site = await start(t);
    const { app, apiServer, configure, alice } = site;
    const watches = await openAll(t, site);
    const before = await revisions(site);
    await configure({ access: ACCESS, log: { level: 'debug' } });
    await app.reload();
    await eventually(() => Object.values(watches).every(({ ended }) => ended));
    for (const [name, watch] of Object.entries(watches)) {
      t.notOk(watch.broken, name);
      t.notOk(
        watch.events.some((event) => event.startsWith('ERROR')),
        name,
      );
    }
    apiServer.seed.configMap('new', {}, { namespace: 'acme' });
    const resumed = follow(
      t,
      await site.open(alice, `${CONFIG_MAPS}?watch=1&resourceVersion=${before.configMaps}`),
    );
    await eventually(() => resumed.events.includes('ADDED new'));
    const namespaces = follow(
      t,
      await site.open(alice, `${NAMESPACES}?watch=1&resourceVersion=${before.namespaces}`),
    );
    apiServer.seed.namespace('second');
    apiServer.seed.roleBinding('workers', 'worker', ['user:acme:alice'], { namespace: 'second' });
    await eventually(() => namespaces.events.includes('ADDED second'));
  },
);

t.test('a reload that is refused leaves watches open', async (t) => {
  const site = await start(t);
  const { app, apiServer, configure } = site;
  const watches = await openAll(t, site);
  await configure({ access: { ...ACCESS, maxNamespaces: -1 } });
  await app.reload();
  apiServer.seed.configMap('new', {}, { namespace: 'acme' });
  await eventually(() => watches.everywhere.events.includes('ADDED new'));
  t.notOk(Object.values(watches).some(({ ended, broken }) => ended || broken));
  // From here on the watch of all namespaces may end: the user's access changes.
  apiServer.seed.namespace('second');
  apiServer.seed.roleBinding('workers', 'worker', ['user:acme:alice'], { namespace: 'second' });
  await eventually(() => watches.namespaces.events.includes('ADDED second'));
  t.notOk(watches.namespaces.ended || watches.namespaces.broken);
});
