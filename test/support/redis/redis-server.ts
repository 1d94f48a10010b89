/**
 * A real Redis in a folder of its own, to be started, stopped and frozen by a test.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';

/** Why tests against Redis cannot run here; undefined where they can. */
export function redisMissing(): string | undefined {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return 'redis-server is not installed: apt-get install redis-server';
    }
    throw error;
  }
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Keeps connections open and answers nothing, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** One command on a connection of its own. */
  command(...words: string[]): Promise<unknown>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

export interface RedisServerOptions {
  /** Lines of redis.conf. */
  readonly configuration?: readonly string[];
  readonly sentinel?: boolean;
  /** Listen on a TCP port of the loopback, plain or with TLS; otherwise on a socket alone. */
  readonly tcp?: true | 'tls';
}

export async function createRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-redis-'));
  const port = options.tcp === undefined ? 0 : await freePort();
  const socket = join(folder, 'redis.sock');
  const lines = [
    ...(options.tcp === 'tls' ? ['port 0', `tls-port ${port}`] : [`port ${port}`]),
    'bind 127.0.0.1',
    `unixsocket ${socket}`,
    `dir ${folder}`,
    ...(options.sentinel === true ? [] : ['save ""', 'appendonly no']),
    ...(options.configuration ?? []),
  ];
  writeFileSync(join(folder, 'redis.conf'), `${lines.join('\n')}\n`);
  let child: ChildProcess | undefined;

  const server: RedisServer = {
    url: options.tcp !== undefined ? `redis://127.0.0.1:${port}` : `unix://${socket}`,
    port,
    async start() {
      const words = [join(folder, 'redis.conf'), ...(options.sentinel === true ? ['--sentinel'] : [])];
      child = spawn('redis-server', words, { stdio: 'ignore' });
      await eventually(async () => (await command(socket, ['PING'])) === 'PONG');
    },
    async stop() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    command: (...words) => command(socket, words),
    async remove() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** Over the socket, which a server of any kind here has. */
async function command(socket: string, words: readonly string[]): Promise<unknown> {
  const [name = 'PING', ...rest] = words;
  const connection = new Redis(socket, {
    lazyConnect: true,
    retryStrategy: () => null,
    disconnectTimeout: 10,
  });
  // What went wrong is thrown by the calls below.
  connection.on('error', () => {});
  try {
    await connection.connect();
    return await connection.call(name, ...rest);
  } finally {
    connection.disconnect();
  }
}
