/** The soak test finds wrong responses and what a process leaves open. */
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

t.test('a refused valid request is wrong unless a backend is down meanwhile', async (t) => {
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

t.test('after the end of its token a request may get 401', async (t) => {
  let now = 999;
  const verdicts = new Verdicts(() => now);
  const judge = verdicts.begin({ ...OWN, validUntil: 1_000 });
  judge({ status: 401, body: '' });
  t.equal(verdicts.wrongTotal, 1);
  now = 1_000;
  judge({ status: 401, body: '' });
  t.equal(verdicts.wrongTotal, 1);
});

t.test("another tenant's objects and a refused credential are wrong even during a fault", async (t) => {
  const verdicts = new Verdicts();
  verdicts.faultBegins();
  verdicts.begin(OWN)({ status: 200, body: '{"owner":"globex"}' });
  verdicts.begin(OWN)({ status: 401, body: '' });
  t.equal(verdicts.wrongTotal, 2);
});

t.test('connections, timers and descriptors that a process leaves open are named', async (t) => {
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
