/**
 * What runs inside the stand-in’s pods: a log that tests append to, a folder for files, and a small HTTP
 * server (port 7 echoes bytes instead). None of it listens on the network.
 */
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Location } from './store.ts';

const ECHO_PORT = 7;

export class PodLog {
  readonly lines: { readonly at: string; readonly text: string }[] = [];
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  append(text: string) {
    const line = { at: new Date().toISOString(), text };
    this.lines.push(line);
    this.#emitter.emit('line', line);
  }

  /** Ends every `logs -f`. */
  end() {
    this.#emitter.emit('end');
  }

  /** @returns a function that ends the subscription */
  follow(onLine: (line: { at: string; text: string }) => void, onEnd: () => void): () => void {
    this.#emitter.on('line', onLine);
    this.#emitter.once('end', onEnd);
    return () => {
      this.#emitter.off('line', onLine);
      this.#emitter.off('end', onEnd);
    };
  }

  get followers() {
    return this.#emitter.listenerCount('line');
  }
}

export interface Pod {
  readonly name: string;
  readonly log: PodLog;
  /** The pod's root folder on this machine, created on first use. */
  directory(): string;
  /** Passes a connection to the server on a port inside the pod. */
  connect(port: number, connection: Duplex): void;
  /** Responds to one request as the HTTP server inside the pod does. */
  answer(request: IncomingMessage, response: ServerResponse, path: string): void;
}

export type Pods = ReturnType<typeof createPods>;

export function createPods() {
  const pods = new Map<string, ReturnType<typeof createPod>>();
  const keyOf = ({ tenant, namespace, name }: Location) => [tenant, namespace, name].join('/');
  return {
    at(location: Location) {
      const key = keyOf(location);
      const known = pods.get(key) ?? createPod(location.name);
      pods.set(key, known);
      return known;
    },
    forget(location: Location) {
      pods.get(keyOf(location))?.stop();
      pods.delete(keyOf(location));
    },
    close() {
      for (const pod of pods.values()) pod.stop();
      pods.clear();
    },
  };
}

function createPod(name: string): Pod & { stop(): void } {
  const log = new PodLog();
  let folder: string | undefined;
  const answer: Pod['answer'] = (request, response, path) => {
    response.setHeader('Content-Type', 'text/plain');
    response.setHeader('X-Pod', name);
    if (request.method === 'POST' || request.method === 'PUT') request.pipe(response);
    else response.end(`${request.method} ${path} answered by ${name}\n`);
  };
  const server: Server = createServer((request, response) => answer(request, response, request.url ?? '/'));
  return {
    name,
    log,
    directory() {
      folder ??= mkdtempSync(join(tmpdir(), `pod-${name}-`));
      return folder;
    },
    connect(port, connection) {
      if (port === ECHO_PORT) connection.pipe(connection);
      else server.emit('connection', connection);
    },
    answer,
    stop() {
      log.end();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      folder = undefined;
    },
  };
}
