/** A real Redis in its own folder, which a test starts, stops and freezes. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';

/** Why tests against Redis cannot run here; undefined if they can. */
export function redisMissing(): string | undefined {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return 'redis-server is not installed: apt-get install redis-server';
    throw error;
  }
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops responding but leaves connections open, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Sends one command on a new connection. */
  command(...words: string[]): Promise<unknown>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

export interface RedisServerOptions {
  /** Additional lines of redis.conf. */
  readonly configuration?: readonly string[];
  readonly sentinel?: boolean;
  /** Listens on a loopback TCP port, plain or with TLS; by default only on a Unix socket. */
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

/** Sends a command over the Unix socket, which every server here has. */
async function command(socket: string, words: readonly string[]): Promise<unknown> {
  const [name = 'PING', ...rest] = words;
  const connection = new Redis(socket, {
    lazyConnect: true,
    retryStrategy: () => null,
    disconnectTimeout: 10,
  });
  // The calls below throw the error.
  connection.on('error', () => {});
  try {
    await connection.connect();
    return await connection.call(name, ...rest);
  } finally {
    connection.disconnect();
  }
}
