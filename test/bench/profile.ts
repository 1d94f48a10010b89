/** Where a warm request's time goes: V8's own profile of Stonegate's main thread, summed by file. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keystoneToken } from './configuration.ts';
import { startStonegate } from './contenders/stonegate.ts';
import { loadFor } from './generator.ts';
import type { Scenario } from './scenarios.ts';
import type { Site } from './site.ts';
import { wrk } from './wrk.ts';

export interface ProfileRow {
  readonly where: string;
  /** Of the main thread's busy time, including garbage collection. */
  readonly percent: number;
}

/** What is read of V8's format. */
interface CPUProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
}

const SHOWN = 24;

export async function measureProfile(
  site: Site,
  shape: Scenario['shape'],
  seconds: number,
): Promise<ProfileRow[]> {
  const folder = mkdtempSync(join(site.folder, 'profile-'));
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const serving = await startStonegate({ site, upstream: 'plain', name: 'profile', nodeOptions });
  try {
    const options = { ...shape, folder: site.folder, port: serving.port, tokens: [keystoneToken()] };
    await loadFor(seconds, wrk, options);
  } finally {
    await serving.stop();
  }
  const [file] = readdirSync(folder);
  if (file === undefined) throw new Error(`no profile was written:\n${serving.output()}`);
  const profile: CPUProfile = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  return sharesOf(profile);
}

function sharesOf({ nodes, samples }: CPUProfile): ProfileRow[] {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const place = places.get(sample) ?? '';
    if (place !== '(idle)') counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN)
    .map(([where, count]) => ({ where, percent: (100 * count) / total }));
}

/** The file, or the function where it is native. */
function placeOf({ url, functionName }: { readonly url: string; readonly functionName: string }): string {
  if (url === '') return functionName;
  return url.replace(/^file:.*\/(?=(?:src|node_modules)\/)/, '');
}
