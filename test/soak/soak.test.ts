/** What the soak test would find: a wrong response, and what grows. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { growth, type Holdings } from './holdings.ts';
import { Verdicts } from './verdicts.ts';

const OWN = { name: 'own objects', statuses: [200], never: '"globex"' };
/** Connects to the port, and on SIGUSR2 leaves a timer and a file open. */
const LEAKS = `
  const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1', () => process.send(socket.localPort));
  process.on('SIGUSR2', () => {
    setTimeout(function forgotten() {}, 3_600_000);
    require('node:fs').openSync('/dev/zero');
    process.send('leaked');
  });
`;
const MEASURE = new URL('./programs/measure.ts', import.meta.url).href;
const ok = { status: 200, body: '{"owner":"acme"}' };

t.test('a refusal of a valid request is wrong, unless a backend is down meanwhile', async (t) => {
  const verdicts = new Verdicts();
  verdicts.begin(OWN)(ok);
  t.equal(verdicts.wrongTotal, 0);
  verdicts.begin(OWN)({ status: 503, body: '' });
  verdicts.begin(OWN)({ status: undefined, body: 'ECONNRESET' });
  t.equal(verdicts.wrongTotal, 2);

  const before = verdicts.begin(OWN);
  verdicts.faultBegins();
  const within = verdicts.begin(OWN);
  verdicts.faultEnds();
  before({ status: 503, body: '' });
  within({ status: 504, body: '' });
  t.equal(verdicts.wrongTotal, 2);
  verdicts.begin(OWN)({ status: 503, body: '' });
  t.equal(verdicts.wrongTotal, 3, 'the fault is over');
});

t.test('after the end of a token 401 is right, whenever the request began', async (t) => {
  let now = 0;
  const verdicts = new Verdicts(() => now);
  const expected = { ...OWN, validUntil: 1_000 };
  const judge = verdicts.begin(expected);
  now = 999;
  judge({ status: 401, body: '' });
  t.equal(verdicts.wrongTotal, 1);
  now = 1_000;
  judge({ status: 401, body: '' });
  judge(ok);
  t.equal(verdicts.wrongTotal, 1);
  judge({ status: 403, body: '' });
  t.equal(verdicts.wrongTotal, 2);
});

t.test("another tenant's objects, and a refused credential, are wrong in a fault too", async (t) => {
  const verdicts = new Verdicts();
  verdicts.faultBegins();
  verdicts.begin(OWN)({ status: 200, body: '{"owner":"globex"}' });
  verdicts.begin(OWN)({ status: 401, body: '' });
  verdicts.begin({ name: 'expired token', statuses: [401] })(ok);
  t.equal(verdicts.wrongTotal, 3);
});

t.test('a connection, one more timer or descriptor is growth; some more memory is none', async (t) => {
  const first: Holdings = {
    heap: 40e6,
    resident: 150e6,
    connections: [],
    timers: ['reload', 'reconnect'],
    descriptors: ['/dev/null', 'socket'],
  };
  t.same(growth(first, { ...first, heap: 45e6, resident: 190e6 }), []);
  t.same(growth(first, { ...first, timers: ['reload', 'sleep'] }), [], 'as many');
  t.same(growth(first, { ...first, timers: ['reload', 'reload', 'reconnect'] }), [
    'timers: 3 instead of 2: reload',
  ]);
  t.same(growth(first, { ...first, descriptors: ['/dev/null', 'socket', '/tmp/x'] }), [
    'descriptors: 3 instead of 2: /tmp/x',
  ]);
  t.same(growth(first, { ...first, connections: ['from port 1 to port 2'] }), [
    'connection left open: from port 1 to port 2',
  ]);
  t.match(growth(first, { ...first, heap: 80e6 }), [/^heap: 76\.3 MB instead of 38\.1 MB$/]);
});

t.test('what a process leaves open is found, by name', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const child = spawn(process.execPath, ['--expose-gc', '--import', MEASURE, '-e', LEAKS, String(port)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const measure = async (adminPort: number): Promise<Holdings> => {
    const response = once(child, 'message');
    child.send({ adminPort });
    const [holdings]: Holdings[] = await response;
    if (holdings === undefined) throw new Error('no measurement');
    return holdings;
  };
  const [ownPort] = await once(child, 'message');
  const before = await measure(0);
  t.match(before.connections, [new RegExp(`^from port ${ownPort} to port ${port}$`)]);
  t.same((await measure(Number(ownPort))).connections, [], 'the admin listener is left out');
  const leaked = once(child, 'message');
  child.kill('SIGUSR2');
  await leaked;
  const found = growth({ ...before, connections: [] }, await measure(0));
  child.kill();
  server.close();
  t.match(found, [
    /^connection left open: from port /,
    /^timers: .*: forgotten$/,
    /^descriptors: .*: \/dev\/zero$/,
  ]);
});
