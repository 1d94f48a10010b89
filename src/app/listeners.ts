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
import { ADMISSION_LISTENER, tlsMaterial } from './listener-settings.ts';
import type { Serving } from './serving.ts';

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
  const opened = new Map<ListenerName, Listener>();
  const close = async (grace: number) => {
    await Promise.all([...opened.values()].map((listener) => listener.close(grace)));
  };

  async function open(name: ListenerName): Promise<AddressInfo | undefined> {
    const settings = settingsOf(name, loaded.configuration);
    const tls = tlsOf(name, loaded);
    if (settings === undefined || tls === undefined) return undefined;
    onStep(`listening at ${name === 'api' ? 'server' : name}.bind ${settings.bind}`);
    const { timeouts, limits } = loaded.configuration.server;
    const serve = (exchange: Exchange) => serving()[name]?.(exchange) ?? notConfigured(name);
    const listener = await createListener({ ...runtime, timeouts, limits, ...settings, tls, serve });
    opened.set(name, listener);
    runtime.telemetry.listening(name, () => listener.activeConnections);
    return listener.address;
  }

  try {
    const api = await open('api');
    if (api === undefined) throw new Error('the API has no listener');
    const addresses: { api: AddressInfo } & { [K in ListenerName]?: AddressInfo } = { api };
    for (const name of ['portal', 'webhook', 'admission'] as const) {
      const address = await open(name);
      if (address) addresses[name] = address;
    }
    return { addresses, prepareTLS, drain, close };
  } catch (error) {
    await close(0);
    throw error;
  }

  function prepareTLS(next: LoadedConfiguration): () => void {
    const prepared = [...opened].map(([name, listener]) => {
      const tls = tlsOf(name, next);
      return tls && listener.prepareTLS(tls);
    });
    return () => {
      for (const setTLS of prepared) setTLS?.();
    };
  }

  function drain(): void {
    for (const listener of opened.values()) listener.drain();
  }
}

/** @returns undefined if the listener is not configured */
function settingsOf(
  name: ListenerName,
  { server, portal, webhook, admission }: StonegateConfiguration,
): (Pick<ListenerOptions, 'bind' | 'http2'> & Partial<typeof ADMISSION_LISTENER>) | undefined {
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

/** @returns undefined if the configuration does not have the listener any more */
function tlsOf(name: ListenerName, { configuration, file }: LoadedConfiguration): TLSMaterial | undefined {
  const section = name === 'api' ? configuration.server : configuration[name];
  if (section === undefined) return undefined;
  const material = tlsMaterial(section.tls, file);
  const { clientCertificates } = configuration.authentication;
  if (name !== 'api' || clientCertificates === undefined) return material;
  return { cert: material.cert, key: material.key, credentialCA: file(clientCertificates.caFile) };
}

function notConfigured(name: string): Promise<never> {
  return Promise.reject(new StatusError('NotFound', `the ${name} is not configured any more`));
}
