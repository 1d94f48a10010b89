/** Access tokens: what one costs a request beside a cached JWT, and what many of them cost a process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type ServingStonegate, startStonegate } from './contenders/stonegate.ts';
import { print, throughputTable } from './report.ts';
import { playRounds, ROUND_SECONDS } from './rounds.ts';
import type { Row } from './rows.ts';
import { SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { namespaceOf, secretOf } from './stored-tokens.ts';
import { residentBytes } from './usage.ts';
import { verdict } from './verdicts.ts';
import { wrk } from './wrk.ts';

const ROUNDS = 9;
/** Microseconds of CPU on each request. */
const AT_MOST = 5;
const MANY = 100_000;
const SETTLE_MS = 5_000;

interface TokensMemory {
  readonly tokens: number;
  /** From the start of the process until the last token is accepted. */
  readonly acceptedSeconds: number;
  readonly residentMB: number;
}

export async function playTokens(site: Site): Promise<{ requests: Row[]; memory: TokensMemory[] }> {
  const jwt = await site.issuer.sign({ aud: 'kubernetes', sub: 'user-0', exp: nextDay() });
  const entry = (name: string, token: string) => ({
    name,
    shape: { ...SMALL, tokens: [token] },
    start: () => start(site, 1, name.replace(' ', '-')),
  });
  const requests = await playRounds({
    site,
    entries: [entry('JWT', jwt), entry('access token', secretOf(0).text)],
    load: wrk,
    warmUp: 9,
    rounds: ROUNDS,
    seconds: ROUND_SECONDS,
  });
  console.log(`\nA 2 kB GET with a JWT and with a token of 20 scopes\n\n${throughputTable(requests)}`);
  const [first, second] = requests.map(({ cpuPerRequest }) => cpuPerRequest);
  const added = (second ?? 0) - (first ?? 0);
  console.log(verdict(added <= AT_MOST, `${added.toFixed(1)} µs more, at most ${AT_MOST} wanted`));
  const memory = [await measureMemory(site, 1), await measureMemory(site, MANY)];
  print('Many tokens', memory, ['tokens', 'acceptedSeconds', 'residentMB']);
  return { requests, memory };
}

function start(site: Site, count: number, name = `tokens-${count}`): Promise<ServingStonegate> {
  writeFileSync(join(site.folder, 'provisioner-token'), 'provisioner-own-token');
  return startStonegate({
    site,
    upstream: 'plain',
    name,
    changes: {
      tokens: { namespace: namespaceOf(site.issuer.url, count) },
      bindings: { credential: { tokenFile: 'provisioner-token' } },
    },
  });
}

async function measureMemory(site: Site, tokens: number): Promise<TokensMemory> {
  const began = performance.now();
  const serving = await start(site, tokens);
  const dispatcher = new Agent({ connect: { ca: site.ca } });
  try {
    const headers = { authorization: `Bearer ${secretOf(tokens - 1).text}` };
    const ask = async () => {
      const url = `https://localhost:${serving.port}${SMALL.path}`;
      const { statusCode, body } = await request(url, { dispatcher, headers });
      await body.dump();
      return statusCode;
    };
    while ((await ask()) !== 200) await pause(50);
    const acceptedSeconds = (performance.now() - began) / 1_000;
    await pause(SETTLE_MS);
    return { tokens, acceptedSeconds, residentMB: residentBytes(serving.pid) / 1e6 };
  } finally {
    await dispatcher.close();
    await serving.stop();
  }
}

function nextDay(): number {
  return Math.floor(Date.now() / 1_000) + 86_400;
}
