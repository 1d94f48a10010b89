/** What can be asked for by name: measured, and printed. */
import { accessVerdicts, measureAccess } from './access.ts';
import { caddy } from './contenders/caddy.ts';
import type { Contender } from './contenders/contender.ts';
import { stonegate } from './contenders/stonegate.ts';
import { measureExec } from './exec.ts';
import { measureFirstSight } from './first-sight.ts';
import { measureGrowth } from './growth.ts';
import { WATCHES } from './growth-kinds.ts';
import { indexReadyVerdicts, measureIndexReady } from './index-ready.ts';
import { measureLife } from './life.ts';
import { measureOffered } from './offered.ts';
import { play, ROUND_SECONDS } from './play.ts';
import { measureProfile } from './profile.ts';
import { growthTable, print, throughputTable } from './report.ts';
import { measureResident } from './resident.ts';
import type { Row } from './rows.ts';
import { measureRulesReviews } from './rules-reviews.ts';
import { GET, SCENARIOS, type Scenario } from './scenarios.ts';
import type { Site } from './site.ts';
import {
  firstSightVerdicts,
  lifeVerdicts,
  offeredVerdicts,
  throughputVerdicts,
  watchVerdicts,
} from './verdicts.ts';
import { compareWatches, growWatches } from './watches.ts';

/** @returns the figures */
export type Play = (site: Site) => Promise<unknown>;

export const BY_NAME_ONLY = new Set([
  'growth',
  'growth-watches',
  'profile',
  'profile-list',
  'index-ready',
  'rules-reviews',
]);

const WATCH_COLUMNS = [
  'contender',
  'transport',
  'watches',
  'idleMB',
  'openMB',
  'kilobytesPerWatch',
  'p50',
  'p99',
] as const;

/** @param added contenders in each scenario of throughput */
export function createPlays(added: readonly Contender[]): ReadonlyMap<string, Play> {
  let caddyMaximum: number | undefined;
  return new Map<string, Play>([
    ...SCENARIOS.map((scenario): [string, Play] => [
      scenario.name,
      async (site) => {
        const rows = await playScenario(site, scenario, added);
        if (scenario === GET)
          caddyMaximum = rows.find(({ contender }) => contender === caddy.name)?.requestsPerSecond;
        return rows;
      },
    ]),
    ['offered', (site) => playOffered(site, caddyMaximum)],
    [
      'watches',
      async (site) => {
        const rows = await compareWatches(site, 5_000);
        const title = 'Idle watches, an event each within a second (ms; least, median and most of the turns)';
        return say(print(title, rows, [...WATCH_COLUMNS, 'p99Added']), watchVerdicts(rows));
      },
    ],
    [
      'first-sight',
      async (site) => {
        const measured = await measureFirstSight(site);
        return say(
          describe("A credential's first sight (µs of CPU)", measured),
          firstSightVerdicts(measured),
        );
      },
    ],
    [
      'life',
      async (site) => {
        const measured = await measureLife(site);
        return say(describe('Start and idleness', measured), lifeVerdicts(measured));
      },
    ],
    [
      'resident',
      async (site) =>
        print('Resident memory after loads', await measureResident(site, stonegate), [
          'contender',
          'after',
          'residentMB',
        ]),
    ],
    [
      'exec',
      async (site) => {
        const columns = ['contender', 'megabytesPerSecond', 'cpuPerMegabyte'] as const;
        return print('An exec stream', await measureExec(site, 4), columns);
      },
    ],
    [
      'access',
      async () => {
        const measured = await measureAccess();
        return say(describe('The RBAC index (CPU)', measured), accessVerdicts(measured));
      },
    ],
    ['profile', (site) => playProfile(site, 'get')],
    ['profile-list', (site) => playProfile(site, 'list')],
    [
      'index-ready',
      async () => {
        const measured = await measureIndexReady();
        return say(describe('The RBAC index, until it is complete', measured), indexReadyVerdicts(measured));
      },
    ],
    [
      'rules-reviews',
      async () => describe('A review for each namespace, beside the RBAC index', await measureRulesReviews()),
    ],
    ['growth', playGrowth],
    [
      'growth-watches',
      async (site) =>
        print(
          'Watches as they grow (ms; least, median and most of the turns)',
          await growWatches(site, WATCHES),
          WATCH_COLUMNS,
        ),
    ],
  ]);
}

async function playScenario(site: Site, scenario: Scenario, added: readonly Contender[]): Promise<Row[]> {
  const absent = scenario.contenders.filter(({ missing }) => missing !== undefined);
  const present = scenario.contenders.filter(({ missing }) => missing === undefined);
  const pace = { rounds: scenario.rounds, seconds: ROUND_SECONDS };
  const rows = await play(site, scenario, [...present, ...added], pace);
  console.log(`\n${scenario.title}\n\n${throughputTable(rows, absent)}`);
  return say(rows, throughputVerdicts(scenario, rows));
}

async function playOffered(site: Site, caddyMaximum: number | undefined): Promise<unknown> {
  if (caddy.missing !== undefined) {
    console.log(`\noffered: ${caddy.missing}`);
    return caddy.missing;
  }
  const rows = await measureOffered(site, caddyMaximum);
  const title = "2 kB GET at 60 % of Caddy's maximum (ms; least, median and most of the rounds)";
  return say(print(title, rows, ['contender', 'offered', 'answered', 'p50', 'p99']), offeredVerdicts(rows));
}

async function playProfile(site: Site, name: string): Promise<unknown> {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no such scenario: ${name}`);
  const rows = await measureProfile(site, scenario.shape, 15);
  return print(`Where the main thread spends ${scenario.title}`, rows, ['percent', 'where']);
}

async function playGrowth(site: Site): Promise<unknown> {
  const requests = await measureGrowth(site);
  console.log(`\nCost as it grows\n\n${growthTable(requests)}`);
  return requests;
}

function describe(title: string, measured: object): object {
  console.log(`\n${title}\n\n${JSON.stringify(measured, null, 2)}`);
  return measured;
}

/** @returns what was measured, when the verdicts on it are printed */
function say<T>(measured: T, verdicts: readonly string[]): T {
  console.log(['', ...verdicts].join('\n'));
  return measured;
}
