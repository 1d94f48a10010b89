/**
 * `npm run bench`: Stonegate beside what people would otherwise run. See `docs/performance.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { caddy, parseContender, passThrough, stonegate } from './contenders.ts';
import { measureExec } from './exec.ts';
import { measureFirstSight } from './first-sight.ts';
import { measureGrowth } from './growth.ts';
import { measureLife } from './life.ts';
import { measureProfile } from './profile.ts';
import { table, throughputTable, verdicts, worse } from './report.ts';
import { FULL, play, playOffered, QUICK, SCENARIOS } from './scenarios.ts';
import { createSite, type Site } from './site.ts';
import { measureWatches } from './watches.ts';

const USAGE = `Usage: npm run bench -- [OPTIONS]

  --quick                      the 2 kB GET beside the bare pass-through and nothing else, in a minute
  --at-least RATIO             with --quick: exit with 1 where the worse ratio to the pass-through is below it at three attempts
  --scenario NAME              only this one; may be repeated
  --contender NAME=COMMAND,PORT  one more; it finds UPSTREAM, CERT_FILE, KEY_FILE and CA_FILE in its environment
  --json FILE                  where the figures are written (coverage/bench.json)

Scenarios: get, tls, http2, list, create, offered, watches, first-sight, life, exec, and only by name: growth, profile, profile-list.
`;

const values = read();

function read() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        'at-least': { type: 'string', default: '0' },
        scenario: { type: 'string', multiple: true },
        contender: { type: 'string', multiple: true, default: [] },
        json: { type: 'string', default: 'coverage/bench.json' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
}

function misused(what: string): never {
  console.error(`${what}\n\n${USAGE}`);
  process.exit(2);
}

const BY_NAME_ONLY = new Set(['growth', 'profile', 'profile-list']);

type Play = (site: Site) => Promise<unknown>;
const figures: Record<string, unknown> = {};
let caddyMaximum: number | undefined;

const plays = new Map<string, Play>([
  ...SCENARIOS.map((scenario): [string, Play] => [
    scenario.name,
    async (site) => {
      const added = values.contender.map(parseContender);
      for (const { missing } of scenario.contenders) if (missing !== undefined) console.log(missing);
      const present = scenario.contenders.filter(({ missing }) => missing === undefined);
      const rows = await play(site, scenario, [...present, ...added], { ...FULL, rounds: scenario.rounds });
      if (scenario.name === 'get')
        caddyMaximum = rows.find(({ contender }) => contender === 'caddy')?.requestsPerSecond;
      console.log(`\n${scenario.title}\n\n${throughputTable(rows)}\n`);
      for (const line of verdicts(scenario, rows)) console.log(line);
      return rows;
    },
  ]),
  [
    'offered',
    async (site) => {
      const [get] = SCENARIOS;
      if (caddy.missing !== undefined || get === undefined) return caddy.missing;
      const pace = { ...FULL, rounds: 1 };
      caddyMaximum ??= (await play(site, get, [caddy], pace))[0]?.requestsPerSecond;
      const rows = await playOffered(site, caddyMaximum ?? 0, 6);
      return print("2 kB GET at 60 % of Caddy's maximum (milliseconds)", rows, [
        'contender',
        'offered',
        'p50',
        'p99',
      ]);
    },
  ],
  [
    'watches',
    async (site) =>
      print('Idle watches, an event each a second (milliseconds)', await measureWatches(site, 5_000, 4), [
        ...([
          'contender',
          'transport',
          'watches',
          'idleMB',
          'openMB',
          'kilobytesPerWatch',
          'p50',
          'p99',
        ] as const),
      ]),
  ],
  [
    'first-sight',
    async (site) => {
      const seen = await measureFirstSight(site);
      console.log(`\nA credential's first sight (microseconds of CPU)\n\n${JSON.stringify(seen, null, 2)}`);
      return seen;
    },
  ],
  [
    'life',
    async (site) => {
      const life = await measureLife(site);
      console.log(`\nStart and idleness\n\n${JSON.stringify(life, null, 2)}`);
      return life;
    },
  ],
  [
    'exec',
    async (site) =>
      print('An exec stream', await measureExec(site, 4), [
        'contender',
        'megabytesPerSecond',
        'cpuPerMegabyte',
      ]),
  ],
  ...(['get', 'list'] as const).map((name): [string, Play] => [
    name === 'get' ? 'profile' : 'profile-list',
    async (site) => {
      const scenario = SCENARIOS.find((one) => one.name === name);
      if (scenario === undefined) throw new Error(`no such scenario: ${name}`);
      const rows = await measureProfile(site, scenario.shape, 15);
      return print(`Where the main thread spends ${scenario.title}`, rows, ['percent', 'where']);
    },
  ]),
  [
    'growth',
    async (site) =>
      print('Cost as it grows', await measureGrowth(site, 2, 4), [
        ...(['what', 'requestsPerSecond', 'cpuPerRequest', 'residentMB'] as const),
        ...(['keystoneCallsPer1000', 'redisCommandsPer1000'] as const),
      ]),
  ],
]);

function print<R extends object>(title: string, rows: readonly R[], columns: readonly (keyof R & string)[]) {
  console.log(`\n${title}\n\n${table(rows, columns)}`);
  return rows;
}

/** A neighbour may disturb a measurement; what has become slower stays so. */
const TRIES = 3;

async function quick(site: Site): Promise<void> {
  const [get] = SCENARIOS;
  if (get === undefined) throw new Error('there is no scenario');
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const rows = await play(site, get, [stonegate, passThrough], QUICK);
    figures.quick = rows;
    console.log(`\n${get.title}\n\n${throughputTable(rows)}\n`);
    const beside = rows.find(({ contender }) => contender === passThrough.name);
    const ratio = beside === undefined ? 0 : worse(beside);
    const enough = ratio >= Number(values['at-least']);
    console.log(
      `${enough ? 'ok' : 'not ok'}: ${ratio.toFixed(2)} of the bare pass-through, the worse of requests and CPU`,
    );
    if (enough) return;
  }
  process.exitCode = 1;
}

function requireTools(): void {
  for (const [tool, packageName] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ...(values.quick ? [] : ([['h2load', 'nghttp2-client']] as const)),
  ] as const) {
    try {
      execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
    } catch {
      throw new Error(`${tool} is not installed: apt-get install ${packageName}`);
    }
  }
  if (cpus().length < 2) throw new Error('two cores are needed: one for the contender, one for the load');
}

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  requireTools();
  const asked = values.scenario ?? [...plays.keys()].filter((name) => !BY_NAME_ONLY.has(name));
  for (const name of asked) if (!plays.has(name)) misused(`no such scenario: ${name}`);
  if (!(Number(values['at-least']) >= 0)) misused(`no number: ${values['at-least']}`);
  const site = await createSite();
  try {
    if (values.quick) await quick(site);
    else for (const name of asked) figures[name] = await plays.get(name)?.(site);
  } finally {
    await site.close();
  }
  mkdirSync(dirname(values.json), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(values.json, `${JSON.stringify({ machine, ...figures }, null, 2)}\n`);
}

await main();
