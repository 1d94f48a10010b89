/**
 * `npm run soak -- --minutes N [--report FOLDER]`: Stonegate under load while its backends restart. It fails
 * if a response is wrong, or if the process holds more after a round than after the first one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { prometheusMissing } from '../support/prometheus/prometheus.ts';
import { redisMissing } from '../support/redis/redis-server.ts';
import { runClients } from './clients.ts';
import { askAnew, type Fault, runFaults } from './faults.ts';
import { growth, type Holdings, lowest, megabytes } from './holdings.ts';
import { inTime } from './in-time.ts';
import { writeReport } from './report.ts';
import { createSoakSite, type SoakSite } from './site.ts';
import { Verdicts } from './verdicts.ts';

/** Minutes for a round that has begun. */
const LAST_ROUND = 5;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '3' }, report: { type: 'string', default: 'soak-report' } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error('--minutes expects a number above 0');
const missing = prometheusMissing() ?? redisMissing();
if (missing !== undefined) throw new Error(missing);

const folder = mkdtempSync(join(tmpdir(), 'stonegate-soak-'));
const site = await createSoakSite(folder);
const from = Date.now();
const verdicts = new Verdicts();
const faults: Fault[] = [];
const rounds: Holdings[] = [];
const grown: string[] = [];
/** How many of the wrong responses have been printed. */
let shown = 0;
/** Ends what the soak test has started too. */
async function giveUp(reason: string): Promise<void> {
  console.log(reason);
  await site.close();
  process.exit(1);
}

const late = setTimeout(() => void giveUp('the last round does not end'), (minutes + LAST_ROUND) * 60_000);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void giveUp(signal));

try {
  // Each round is compared with the first.
  while (rounds.length < 2 || Date.now() - from < minutes * 60_000) {
    faults.push(...(await runRound(site)));
    const holdings = await leftBehind(site, rounds[0]);
    rounds.push(holdings);
    const news = growth(rounds[0] ?? holdings, holdings).map((each) => `round ${rounds.length}: ${each}`);
    grown.push(...news);
    for (const each of [...verdicts.wrong.slice(shown), ...news]) console.log(each);
    shown = verdicts.wrong.length;
    const { connections, timers, descriptors } = holdings;
    console.log(
      `round ${rounds.length}: ${verdicts.total} responses, ${verdicts.wrongTotal} wrong; heap ${megabytes(holdings.heap)}, ` +
        `${connections.length} connections, ${timers.length} timers, ${descriptors.length} descriptors`,
    );
  }
  const result = { minutes, from: from / 1000, faults, rounds, grown, verdicts };
  await writeReport(values.report, result, site.prometheus);
} finally {
  clearTimeout(late);
  await site.close();
}

console.log(
  `${verdicts.total} responses, ${verdicts.wrongTotal} wrong, ${grown.length} grown: ${values.report}/report.md`,
);
if (verdicts.wrongTotal > 0 || grown.length > 0) {
  console.log(`the files of the run are in ${folder}`);
  process.exitCode = 1;
} else rmSync(folder, { recursive: true });

/** Load and all faults once. */
async function runRound(site: SoakSite): Promise<Fault[]> {
  const round = new AbortController();
  const clients = runClients(site, verdicts, round.signal);
  const found = await runFaults(site, verdicts);
  round.abort();
  await clients;
  return found;
}

/** What the process holds when all clients are gone and every backend is down: then no connection is idle. */
async function leftBehind(site: SoakSite, first: Holdings | undefined): Promise<Holdings> {
  const { testbed, program, redis } = site;
  const { apiServer, keystone, provider } = testbed;
  await inTime(
    'no client is connected',
    async () => (await program.metric('stonegate_connections_open')) === 0,
  );
  await Promise.all([apiServer.stop(), keystone.down(), provider.down(), redis.stop()]);
  await inTime('no request is active', async () => (await program.metric('stonegate_requests_active')) === 0);
  const holdings = await lowest(program.measure, first);
  await Promise.all([apiServer.start(), keystone.listen(), provider.up(), redis.start()]);
  await inTime('requests succeed again', async () => (await askAnew(site)) === 200);
  return holdings;
}
