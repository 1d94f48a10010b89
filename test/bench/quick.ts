/**
 * The 2 kB GET beside the bare pass-through and nothing else, as continuous integration measures it.
 */
import { passThrough } from './contenders/others.ts';
import { stonegate } from './contenders/stonegate.ts';
import { throughputTable } from './report.ts';
import { play, QUICK } from './rounds.ts';
import type { Row } from './rows.ts';
import { GET } from './scenarios.ts';
import type { Site } from './site.ts';
import { worse } from './verdicts.ts';

/** Another process may disturb a measurement; what has become slower is slower at every attempt. */
const ATTEMPTS = 3;

interface QuickResult {
  readonly rows: readonly Row[];
  readonly enough: boolean;
}

/**
 * @param atLeast what the worse ratio to the pass-through must reach at one of the attempts; without it one
 * attempt is enough
 */
export async function playQuick(site: Site, atLeast: number | undefined): Promise<QuickResult> {
  for (let attempt = 1; ; attempt += 1) {
    const rows = await play(site, GET, [stonegate, passThrough], QUICK);
    console.log(`\n${GET.title}\n\n${throughputTable(rows)}\n`);
    const beside = rows.find(({ contender }) => contender === passThrough.name);
    const ratio = beside === undefined ? 0 : worse(beside);
    const said = `${ratio.toFixed(2)} of the bare pass-through (the worse of requests and CPU)`;
    const enough = atLeast === undefined || ratio >= atLeast;
    console.log(
      atLeast === undefined ? said : `${enough ? 'ok' : 'not ok'}: ${said}, at least ${atLeast} wanted`,
    );
    if (enough || attempt === ATTEMPTS) return { rows, enough };
  }
}
