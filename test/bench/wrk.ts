/** The load over HTTP/1.1: `wrk`, one thread, keep-alive. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Generator, generatorOf, type LoadOptions } from './generator.ts';
import { LOAD_CORE, type Running, start } from './processes.ts';

export async function wrk(options: LoadOptions): Promise<Generator> {
  const { folder, port, path, connections } = options;
  const script = join(folder, `load-${port}.lua`);
  writeFileSync(script, luaOf(options));
  const running = start(LOAD_CORE, [
    ...['wrk', '-t1', `-c${connections}`, '-d3600s', '--timeout', '60s'],
    ...['-s', script, `https://127.0.0.1:${port}${path}`],
  ]);
  return generatorOf(running, async () => {
    await interrupt(running);
    const said = running.output();
    if (!/\d+ requests in/.test(said)) throw new Error(`wrk has failed:\n${said}`);
    if (/Non-2xx or 3xx responses|Socket errors/.test(said))
      throw new Error(`some were refused, or broken off:\n${said}`);
  });
}

const ATTEMPTS = 50;

/**
 * Repeats SIGINT until wrk has ended: the kernel may deliver it to the thread that sends the load, and then
 * the main thread sleeps on.
 */
async function interrupt(running: Running): Promise<void> {
  running.signal('SIGCONT');
  for (let attempt = 0; attempt < ATTEMPTS && !running.gone(); attempt += 1) {
    running.signal('SIGINT');
    await pause(200);
  }
  await running.stop();
  await running.closed();
}

/** Only with several tokens is Lua called for each request. */
function luaOf({ folder, port, tokens }: LoadOptions): string {
  const lines = [`wrk.headers["Authorization"] = "Bearer ${tokens[0]}"`];
  if (tokens.length > 1) {
    const file = join(folder, `tokens-${port}.txt`);
    writeFileSync(file, tokens.join('\n'));
    lines.push(
      'local requests, turn = {}, 0',
      'function init(args)',
      `  for token in io.lines("${file}") do`,
      '    wrk.headers["Authorization"] = "Bearer " .. token',
      '    requests[#requests + 1] = wrk.format()',
      '  end',
      'end',
      'function request()',
      '  turn = turn % #requests + 1',
      '  return requests[turn]',
      'end',
    );
  }
  return `${lines.join('\n')}\n`;
}
