/** What can be asked for by name: measured, and printed. */
import { accessVerdicts, measureAccess } from './access.ts';
import type { Contender } from './contenders/contender.ts';
import { stonegate } from './contenders/stonegate.ts';
import { measureFirstSight } from './first-sight.ts';
import { measureGrowth, WATCHES } from './growth.ts';
import { measureLife } from './life.ts';
import { playQuota } from './quota.ts';
import { growthTable, print, throughputTable } from './report.ts';
import { measureResident } from './resident.ts';
import { play, ROUND_SECONDS } from './rounds.ts';
import type { Row } from './rows.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { measureSingleRequests, singleRequestVerdicts } from './single-requests.ts';
import type { Site } from './site.ts';
import { playTokens } from './tokens.ts';
import { firstSightVerdicts, lifeVerdicts, throughputVerdicts, watchVerdicts } from './verdicts.ts';
import { compareWatches, growWatches } from './watches.ts';

/** @returns the figures */
export type Play = (site: Site) => Promise<unknown>;

export const BY_NAME_ONLY = new Set(['growth', 'growth-watches', 'quota', 'tokens']);

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
  return new Map<string, Play>([
    ...SCENARIOS.map((scenario): [string, Play] => [
      scenario.name,
      (site) => playScenario(site, scenario, added),
    ]),
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
      'access',
      async () => {
        const measured = await measureAccess();
        return say(describe('The RBAC index (CPU)', measured), accessVerdicts(measured));
      },
    ],
    [
      'single-requests',
      async () => {
        const rows = await measureSingleRequests();
        const title = 'Single requests: CPU of the main thread (ms; the most and the least of three), memory';
        return say(print(title, rows, ['request', 'ms', 'laterMs', 'addedMB']), singleRequestVerdicts(rows));
      },
    ],
    ['quota', playQuota],
    ['tokens', playTokens],
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
  const { rounds, turnSeconds } = scenario;
  const pace = { rounds, seconds: ROUND_SECONDS, ...(turnSeconds !== undefined && { turnSeconds }) };
  const rows = await play(site, scenario, [...present, ...added], pace);
  console.log(`\n${scenario.title}\n\n${throughputTable(rows, absent)}`);
  return say(rows, throughputVerdicts(scenario, rows));
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
