/**
 * `npm run bench`: Stonegate beside what people would otherwise run. See `docs/performance.md`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { parseContender } from './contenders/given.ts';
import { BY_NAME_ONLY, createPlays } from './plays.ts';
import { playQuick } from './quick.ts';
import { createSite } from './site.ts';

const USAGE = `Usage: npm run bench -- [OPTIONS]

  --quick                      the 2 kB GET beside the bare pass-through and nothing else, in a minute
  --at-least RATIO             with --quick: exit with 1 where the worse ratio to the pass-through is below it at three attempts
  --scenario NAME              only this one; may be repeated
  --contender NAME=COMMAND,PORT  one more; it finds UPSTREAM, CERT_FILE, KEY_FILE and CA_FILE in its environment
  --json FILE                  where the figures are written (coverage/bench.json)

Scenarios: get, tls, http2, list, create, log, redis, workers, offered, watches, first-sight,
life, exec, and only by name: growth, growth-watches, profile, profile-list.
`;

const values = read();

function read() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        'at-least': { type: 'string' },
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

function requireTools(): void {
  for (const [tool, packageName] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ['setpriv', 'util-linux'],
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
  const plays = createPlays(values.contender.map(parseContender));
  const asked = values.scenario ?? [...plays.keys()].filter((name) => !BY_NAME_ONLY.has(name));
  for (const name of asked) if (!plays.has(name)) misused(`no such scenario: ${name}`);
  const atLeast = values['at-least'] === undefined ? undefined : Number(values['at-least']);
  if (atLeast !== undefined && !(atLeast >= 0)) misused(`no number: ${values['at-least']}`);
  const figures: Record<string, unknown> = {};
  const site = await createSite();
  try {
    if (values.quick) {
      const { rows, enough } = await playQuick(site, atLeast);
      figures.quick = rows;
      if (!enough) process.exitCode = 1;
    } else for (const name of asked) figures[name] = await plays.get(name)?.(site);
  } finally {
    await site.close();
  }
  mkdirSync(dirname(values.json), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(values.json, `${JSON.stringify({ machine, ...figures }, null, 2)}\n`);
}

await main();
