/**
 * `npm run bench`: Stonegate beside its alternatives. See `docs/performance.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { AGAINST, otherBuild, playAgainst } from './against.ts';
import type { Contender } from './contenders/contender.ts';
import { parseContender } from './contenders/others.ts';
import { BY_NAME_ONLY, createPlays } from './plays.ts';
import { playQuick } from './quick.ts';
import { createSite } from './site.ts';

const USAGE = `Usage: npm run bench -- [OPTIONS]

  --quick                      the 2 kB GET beside the bare pass-through and nothing else, in a minute
  --at-least RATIO             with --quick: exit with 1 where the worse ratio to the pass-through is below it at three attempts
  --against FOLDER             beside another checkout with node_modules and dist, in turn: get, tls, http2, list, resident, watches
  --scenario NAME              only this one; may be repeated
  --contender NAME=COMMAND,PORT  one more; it finds UPSTREAM, CERT_FILE, KEY_FILE and CA_FILE in its environment
  --json FILE                  where the figures are written (coverage/bench.json)

Scenarios: get, tls, http2, list, redis, limits, workers, watches, first-sight, life, resident, access,
single-requests, and only by name: growth, growth-watches, quota, tokens.
`;

const values = read();

function read() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        'at-least': { type: 'string' },
        against: { type: 'string' },
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

function missingTool(): string | undefined {
  for (const [tool, packageName] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ['setpriv', 'util-linux'],
    ...(values.quick ? [] : ([['h2load', 'nghttp2-client']] as const)),
  ] as const) {
    try {
      execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
    } catch {
      return `${tool} is not installed: apt-get install ${packageName}`;
    }
  }
  return cpus().length < 2 ? 'two cores are needed: one for the contender, one for the load' : undefined;
}

function contendersGiven(): Contender[] {
  return values.contender.map(
    (text) => parseContender(text) ?? misused(`--contender ${text} is not of the form NAME=COMMAND,PORT`),
  );
}

function atLeastGiven(): number | undefined {
  const text = values['at-least'];
  if (text === undefined) return undefined;
  if (!values.quick) misused('--at-least goes with --quick only');
  const number = Number(text);
  return text.trim() !== '' && number >= 0 ? number : misused(`no number: ${text}`);
}

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  if (values.against !== undefined && (values.quick || values.contender.length > 0))
    misused('--against has two contenders of its own');
  const other = values.against === undefined ? undefined : otherBuild(values.against);
  const plays = createPlays(contendersGiven());
  const all = other === undefined ? [...plays.keys()].filter((name) => !BY_NAME_ONLY.has(name)) : AGAINST;
  const asked = values.scenario ?? all;
  for (const name of asked)
    if (other === undefined ? !plays.has(name) : !AGAINST.includes(name))
      misused(`no such scenario: ${name}`);
  if (values.quick && [...(values.scenario ?? []), ...values.contender].length > 0)
    misused('--quick is one scenario with two contenders of its own');
  const atLeast = atLeastGiven();
  const missing = missingTool();
  if (missing !== undefined) {
    console.error(missing);
    process.exit(1);
  }
  const figures: Record<string, unknown> = {};
  const site = await createSite();
  try {
    if (values.quick) {
      const { rows, enough } = await playQuick(site, atLeast);
      figures.quick = rows;
      if (!enough) process.exitCode = 1;
    } else if (other !== undefined) Object.assign(figures, await playAgainst(site, other, asked));
    else for (const name of asked) figures[name] = await plays.get(name)?.(site);
  } finally {
    await site.close();
  }
  mkdirSync(dirname(values.json), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(values.json, `${JSON.stringify({ machine, ...figures }, null, 2)}\n`);
  console.log(`\nThe figures are in ${values.json}.`);
}

await main();
