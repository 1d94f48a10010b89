/** What the soak test would find: a wrong response, and what grows. */
import t from 'tap';
import { growth, type Holdings } from './holdings.ts';
import { plotSVG } from './plot.ts';
import { Verdicts } from './verdicts.ts';

const OWN = { name: 'own objects', statuses: [200], never: '"globex"' };
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

t.test("another tenant's objects, and a refused credential, are wrong in a fault too", async (t) => {
  const verdicts = new Verdicts();
  verdicts.faultBegins();
  verdicts.begin(OWN)({ status: 200, body: '{"owner":"globex"}' });
  verdicts.begin(OWN)({ status: 401, body: '' });
  verdicts.begin({ name: 'expired token', statuses: [401] })(ok);
  t.equal(verdicts.wrongTotal, 3);
});

t.test('one more socket, timer or descriptor is growth; some more memory is none', async (t) => {
  const first: Holdings = { heap: 40e6, resident: 150e6, sockets: 1, timers: 20, descriptors: 30 };
  t.same(growth(first, { ...first, heap: 45e6, resident: 190e6 }), []);
  for (const count of ['sockets', 'timers', 'descriptors'] as const)
    t.match(growth(first, { ...first, [count]: first[count] + 1 }), [new RegExp(`^${count}: `)]);
  t.match(growth(first, { ...first, heap: 80e6 }), [/^heap: 76\.3 MB instead of 38\.1 MB$/]);
});

t.test('a plot escapes names and draws each line', async (t) => {
  const lines = [{ name: '<a>', points: [[0, 1] as const, [1, 3] as const] }];
  const svg = plotSVG({ title: 'A & B', unit: 'x', lines, marked: [{ from: 0.2, to: 0.4 }] });
  t.match(svg, 'A &amp; B (x)');
  t.match(svg, '&lt;a&gt;');
  t.equal(svg.match(/<polyline/g)?.length, 1);
});
