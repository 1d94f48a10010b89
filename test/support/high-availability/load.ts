/**
 * Load from clients that know nothing of replicas: each repeats one kind of request until it is stopped, and
 * records every failure.
 */
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Kubectl } from '../apiserver/kubectl.ts';
import { eventually } from '../eventually.ts';

export type Load = ReturnType<typeof repeat>;

/** A request that failed. */
export interface Failure {
  readonly reason: string;
  /** When it began, in milliseconds since the epoch. */
  readonly begunAt: number;
}

/** After so many failures the load ends, since the test has failed. */
const MAX_FAILURES = 100;
/** For one connection: a request finds that the connection closes, the next one opens another. */
const REQUESTS = 10;
/** For processes: the request that was in progress, and one that began later. */
const PROCESSES = 2;

/**
 * @param work one request; rejects with the reason if it failed
 * @param count how many requests are "more"
 */
function repeat(count: number, work: () => Promise<void>) {
  const failures: Failure[] = [];
  let ended = 0;
  let stopped = false;
  const running = (async () => {
    while (!stopped) {
      const begunAt = Date.now();
      await work().catch((error: unknown) => failures.push({ reason: String(error), begunAt }));
      ended += 1;
      if (failures.length >= MAX_FAILURES) break;
    }
  })();
  return {
    /** The number of requests that have ended, successfully or not. */
    get ended() {
      return ended;
    },
    failures,
    /**
     * Resolves when more requests have ended: enough that all of them use new connections. Rejects if too
     * many have failed.
     */
    async more() {
      const goal = ended + count;
      await eventually(() => ended >= goal || failures.length >= MAX_FAILURES);
      if (ended < goal) throw new Error(`the load has ended after many failures: ${failures.at(-1)?.reason}`);
    },
    /** Stops the load; resolves when the last request has ended. */
    stop() {
      stopped = true;
      return running;
    },
  };
}

/** Repeats a command of kubectl, each time in a new process. */
export function repeatKubectl(kubectl: Kubectl, words: readonly string[]): Load {
  return repeat(PROCESSES, async () => {
    const { code, stderr } = await kubectl.run(words);
    if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${code} ${stderr}`);
  });
}

export interface WriterOptions {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  /** The path of a collection of ConfigMaps. */
  readonly path: string;
  /** The prefix of the names. */
  readonly prefix: string;
}

/** Creates ConfigMaps one after another, over one connection for as long as the server leaves it open. */
export function createWriter({ port, ca, token, path, prefix }: WriterOptions) {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
  const created: string[] = [];
  let number = 0;
  const load = repeat(REQUESTS, async () => {
    const name = `${prefix}-${number}`;
    number += 1;
    const status = await post({ host: '127.0.0.1', port, path, agent, token }, { metadata: { name } });
    if (status !== '201') throw new Error(`create ${name}: ${status}`);
    created.push(name);
  });
  return {
    get ended() {
      return load.ended;
    },
    failures: load.failures,
    /** The names whose creation was confirmed. */
    created,
    more: load.more,
    async stop() {
      await load.stop();
      agent.destroy();
    },
  };
}

interface Destination {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly agent: Agent;
  readonly token: string;
}

/** @returns the status, followed by the body unless the status is 201 */
function post({ token, ...destination }: Destination, object: object) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = httpsRequest({ ...destination, method: 'POST', headers }, (response) => {
      const { statusCode } = response;
      text(response).then((body) => resolve(statusCode === 201 ? '201' : `${statusCode} ${body}`), reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(object));
  });
}
