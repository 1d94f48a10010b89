/** The working tree beside another build of Stonegate, in turn: what a change costs. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Contender } from './contenders/contender.ts';
import { startStonegate, stonegate } from './contenders/stonegate.ts';
import { print, throughputTable } from './report.ts';
import { measureResident, type ResidentRow } from './resident.ts';
import { play, ROUND_SECONDS } from './rounds.ts';
import type { Row } from './rows.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import type { Site } from './site.ts';
import { spreadOf } from './statistics.ts';
import { measureWatches, TRANSPORTS, type WatchRow } from './watches.ts';

const THROUGHPUT = ['get', 'tls', 'http2', 'list'];
export const AGAINST: readonly string[] = [...THROUGHPUT, 'resident', 'watches'];

/** Two processes of one build differ by up to a tenth, each as long as it lives. So several are compared. */
const STARTS = 7;
const ROUNDS = 3;
const WATCHES = 5_000;
const OPENING_SECONDS = 60;

/** @throws Error if the folder has no build */
export function otherBuild(folder: string): Contender {
  const main = resolve(folder, 'dist', 'main.js');
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm ci and npm run build there`);
  if (!existsSync(join(folder, 'node_modules'))) throw new Error(`${folder} has no node_modules: run npm ci`);
  return {
    name: 'against',
    start: ({ site, upstream }) => startStonegate({ site, upstream, name: 'against', main }),
  };
}

/**
 * @param names of `AGAINST`
 * @returns the figures
 */
export async function playAgainst(
  site: Site,
  other: Contender,
  names: readonly string[],
): Promise<Record<string, unknown>> {
  const figures: Record<string, unknown> = {};
  for (const scenario of SCENARIOS.filter(({ name }) => THROUGHPUT.includes(name) && names.includes(name)))
    figures[scenario.name] = await playStarts(site, scenario, other);
  if (names.includes('resident')) figures.resident = await playResident(site, other);
  if (names.includes('watches')) figures.watches = await playWatches(site, other);
  return figures;
}

/** @returns the rows of each start */
async function playStarts(site: Site, scenario: Scenario, other: Contender): Promise<readonly Row[]> {
  const theirs: Row[] = [];
  const rows: Row[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    const played = await play(site, scenario, [stonegate, other], { rounds: ROUNDS, seconds: ROUND_SECONDS });
    rows.push(...played);
    theirs.push(...played.filter(({ contender }) => contender === other.name));
  }
  console.log(`\n${scenario.title}\n\n${throughputTable(rows)}`);
  console.log(
    `\n${scenario.name}: ${shown(theirs.map(({ ratio }) => ratio.median))} times the requests/s, ` +
      `${shown(theirs.map(({ cpuRatio }) => 1 / cpuRatio.median))} times the CPU per request ` +
      `(min / median / max of ${STARTS} starts)`,
  );
  return rows;
}

function shown(values: readonly number[]): string {
  const { min, median, max } = spreadOf(values);
  return [min, median, max].map((value) => value.toFixed(3)).join(' / ');
}

async function playResident(site: Site, other: Contender): Promise<readonly ResidentRow[]> {
  const rows = [...(await measureResident(site, stonegate)), ...(await measureResident(site, other))];
  return print('Resident memory after loads', rows, ['contender', 'after', 'residentMB']);
}

async function playWatches(site: Site, other: Contender): Promise<readonly WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const way of TRANSPORTS)
    rows.push(...(await measureWatches(site, [stonegate, other], way, WATCHES, OPENING_SECONDS)));
  print('Idle watches, an event each within a second', rows, [
    ...(['contender', 'transport', 'watches', 'idleMB', 'openMB', 'kilobytesPerWatch'] as const),
    ...(['p50', 'p99', 'p99Added'] as const),
  ]);
  for (const { transport } of TRANSPORTS) {
    const [ours, theirs] = rows.filter((row) => row.transport === transport);
    const ratio = (ours?.openMB ?? Number.NaN) / (theirs?.openMB ?? Number.NaN);
    console.log(`watches, ${transport}: ${ratio.toFixed(3)} times the memory`);
  }
  return rows;
}
