/**
 * The listeners of one process: the API's, and those of the portal and the webhooks at addresses of their
 * own. Their addresses stay as they were at the start; certificates and what they serve follow the
 * configuration in force.
 */
import type { AddressInfo } from 'node:net';
import type { RuntimeDependencies } from '../config/build.ts';
import type { StonegateConfiguration } from '../config/configuration.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { ListenerName } from '../lib/telemetry.ts';
import { createListener, type Listener, type ListenerOptions } from '../server/listener.ts';
import type { TLSMaterial } from '../server/tls-material.ts';
import { ADMISSION_LISTENER, admissionTLS } from './admission-listener.ts';
import type { Serving } from './serving.ts';

/** The listeners in the order in which they are opened. */
const LISTENERS = ['api', 'portal', 'webhook', 'admission'] as const satisfies readonly ListenerName[];

export type Addresses = { readonly api: AddressInfo } & {
  readonly [K in Exclude<ListenerName, 'api'>]?: AddressInfo;
};

export interface Listeners {
  /** The addresses of the listeners with which the process was started. */
  readonly addresses: Addresses;
  /**
   * Prepares the certificates of a configuration.
   *
   * @returns a function that brings them into force for new connections; it never throws
   * @throws Error if one of them cannot be used; then all stay
   */
  prepareTLS(loaded: LoadedConfiguration): () => void;
  /** Asks clients to open their next connection elsewhere; requests are still served. */
  drain(): void;
  /**
   * Stops accepting and lets responses end.
   *
   * @param grace milliseconds until open connections are broken off
   */
  close(grace: number): Promise<void>;
}

/** Undefined if the configuration does not have the listener any more. */
type TLSOf = (loaded: LoadedConfiguration) => TLSMaterial | undefined;

/**
 * @param serving what is in force when a request arrives
 * @param onStep called with each step of the start before it begins
 * @throws Error if an address is taken; then all listeners are closed
 */
export async function createListeners(
  loaded: LoadedConfiguration,
  serving: () => Serving,
  runtime: RuntimeDependencies,
  onStep: (step: string) => void,
): Promise<Listeners> {
  const opened = new OpenListeners(loaded, runtime);
  try {
    return await openAll(opened, loaded.configuration, serving, onStep);
  } catch (error) {
    await opened.close(0);
    throw error;
  }
}

async function openAll(
  opened: OpenListeners,
  configuration: StonegateConfiguration,
  serving: () => Serving,
  onStep: (step: string) => void,
): Promise<Listeners> {
  const addresses: { [K in ListenerName]?: AddressInfo } = {};
  for (const name of LISTENERS) {
    const options = optionsOf(name, configuration);
    if (options === undefined) continue;
    onStep(`listening at ${name === 'api' ? 'server' : name}.bind ${options.bind}`);
    const serve = (exchange: Exchange) => serving()[name]?.(exchange) ?? notConfigured(name);
    const { address } = await opened.open(name, options, TLS[name], serve);
    addresses[name] = address;
  }
  const { api, ...others } = addresses;
  if (api === undefined) throw new Error('the API has no listener');
  return {
    addresses: { api, ...others },
    prepareTLS: (next) => opened.prepareTLS(next),
    drain: () => opened.drain(),
    close: (grace) => opened.close(grace),
  };
}

/** @returns undefined if the listener is not configured */
function optionsOf(
  name: ListenerName,
  { server, portal, webhook, admission }: StonegateConfiguration,
): OpenOptions | undefined {
  switch (name) {
    case 'api':
      return { bind: server.bind, http2: server.http2 };
    case 'portal':
      return portal && { bind: portal.bind, http2: false };
    case 'webhook':
      return webhook && { bind: webhook.bind, http2: server.http2 };
    case 'admission':
      return admission && { bind: admission.bind, ...ADMISSION_LISTENER };
  }
}

type OpenOptions = Pick<ListenerOptions, 'bind' | 'http2'> & Partial<typeof ADMISSION_LISTENER>;

/** The listeners that are open so far. */
class OpenListeners {
  readonly #loaded: LoadedConfiguration;
  readonly #runtime: RuntimeDependencies;
  readonly #opened: { readonly listener: Listener; readonly tlsOf: TLSOf }[] = [];

  constructor(loaded: LoadedConfiguration, runtime: RuntimeDependencies) {
    this.#loaded = loaded;
    this.#runtime = runtime;
  }

  async open(
    name: ListenerName,
    options: OpenOptions,
    tlsOf: TLSOf,
    serve: (exchange: Exchange) => Promise<void>,
  ): Promise<Listener> {
    const { timeouts, limits } = this.#loaded.configuration.server;
    const tls = tlsOf(this.#loaded);
    if (tls === undefined) throw new Error(`${options.bind} has no certificate`);
    const listener = await createListener({ ...this.#runtime, timeouts, limits, ...options, tls, serve });
    this.#opened.push({ listener, tlsOf });
    this.#runtime.telemetry.listening(name, () => listener.activeConnections);
    return listener;
  }

  prepareTLS(next: LoadedConfiguration): () => void {
    const prepared = this.#opened.map(({ listener, tlsOf }) => {
      const tls = tlsOf(next);
      return tls && listener.prepareTLS(tls);
    });
    return () => {
      for (const setTLS of prepared) setTLS?.();
    };
  }

  drain(): void {
    for (const { listener } of this.#opened) listener.drain();
  }

  async close(grace: number): Promise<void> {
    await Promise.all(this.#opened.map(({ listener }) => listener.close(grace)));
  }
}

function notConfigured(name: string): Promise<never> {
  return Promise.reject(new StatusError('NotFound', `the ${name} is not configured any more`));
}

function apiTLS({ configuration, file }: LoadedConfiguration): TLSMaterial {
  const { certFile, keyFile, clientCAFile } = configuration.server.tls;
  const { clientCertificates } = configuration.authentication;
  const own = { cert: file(certFile), key: file(keyFile) };
  if (clientCertificates !== undefined) return { ...own, credentialCA: file(clientCertificates.caFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}

function portalTLS({ configuration: { portal }, file }: LoadedConfiguration): TLSMaterial | undefined {
  return portal && { cert: file(portal.tls.certFile), key: file(portal.tls.keyFile) };
}

/** Only clients with a certificate of the configured authority may connect. */
function webhookTLS({ configuration: { webhook }, file }: LoadedConfiguration): TLSMaterial | undefined {
  if (webhook === undefined) return undefined;
  const { certFile, keyFile, clientCAFile } = webhook.tls;
  return { cert: file(certFile), key: file(keyFile), clientCA: file(clientCAFile) };
}

const TLS: Readonly<Record<ListenerName, TLSOf>> = {
  api: apiTLS,
  portal: portalTLS,
  webhook: webhookTLS,
  admission: admissionTLS,
};
