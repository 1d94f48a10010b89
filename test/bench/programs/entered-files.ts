/**
 * The files of Stonegate that a warm, forwarded 2 kB GET enters, by V8's precise coverage; of another build
 * if its `dist/main.js` is the argument.
 */
import { once } from 'node:events';
import process from 'node:process';
import { Agent, request } from 'undici';
import { keystoneToken } from '../configuration.ts';
import { startStonegate } from '../contenders/stonegate.ts';
import { SMALL } from '../scenarios.ts';
import { createSite } from '../site.ts';
import { until } from '../waiting.ts';

/** What is read of the protocol: https://chromedevtools.github.io/devtools-protocol/v8/Profiler */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { count: number }[];
    }[];
  }[];
}

const WARM_REQUESTS = 50;
const site = await createSite();
const [main] = process.argv.slice(2);
const nodeOptions = ['--inspect=127.0.0.1:0'];
const serving = await startStonegate({ site, upstream: 'plain', nodeOptions, ...(main && { main }) });
try {
  const url = await until(serving, () => /ws:\/\/\S+/.exec(serving.output())?.[0]);
  const inspector = new WebSocket(url);
  await once(inspector, 'open');
  const call = async (method: string, params = {}): Promise<Coverage> => {
    inspector.send(JSON.stringify({ id: 1, method, params }));
    const [message]: { data: string }[] = await once(inspector, 'message');
    return JSON.parse(message?.data ?? '').result;
  };
  const dispatcher = new Agent({ connect: { ca: site.ca }, allowH2: false });
  const headers = { authorization: `Bearer ${keystoneToken()}` };
  const get = async () => {
    const response = await request(`https://localhost:${serving.port}${SMALL.path}`, { dispatcher, headers });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`the response has status ${response.statusCode}`);
  };
  await call('Profiler.enable');
  await call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (let sent = 0; sent < WARM_REQUESTS; sent += 1) await get();
  await call('Profiler.takePreciseCoverage');
  await get();
  const { result } = await call('Profiler.takePreciseCoverage');
  const names = result
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .filter((script) => script.url.includes('/dist/'))
    .map((script) => script.url.replace(/^.*\/dist\//, ''))
    .sort();
  console.log(`${names.join('\n')}\n${names.length} files`);
  inspector.close();
  await dispatcher.close();
} finally {
  await serving.stop();
  await site.close();
}
