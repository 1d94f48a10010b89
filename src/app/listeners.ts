/**
 * The listeners of one process: the API's, and those of the portal and the webhooks at addresses of their
 * own. Their addresses stay as they were at the start; certificates and what they serve follow the
 * configuration in force.
 */
import type { AddressInfo } from 'node:net';
import type { RuntimeDependencies } from '../config/build.ts';
import { StatusError } from '../errors/status-error.ts';
import type { FilesAndSecrets } from '../features/define-feature.ts';
import type { ListenerSettings } from '../features/listener-settings.ts';
import type { Exchange } from '../lib/exchange.ts';
import { CONNECTIONS_OPEN, createListener, type Listener } from '../server/listener.ts';
import type { TLSMaterial } from '../server/tls-material.ts';
import { DEFINITIONS, type LoadedStonegate, type StonegateConfiguration } from './configuration.ts';
import type { Serving } from './serving.ts';

/** The addresses of listeners by their names: `api`, or the name of a feature. */
export interface Addresses {
  readonly api: AddressInfo;
  readonly [feature: string]: AddressInfo | undefined;
}

export interface Listeners {
  /** The addresses of the listeners with which the process was started. */
  readonly addresses: Addresses;
  /**
   * Prepares the certificates of a configuration.
   *
   * @returns a function that brings them into force for new connections; it never throws
   * @throws Error if one of them cannot be used; then all stay
   */
  prepareTLS(loaded: LoadedStonegate): () => void;
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
  loaded: LoadedStonegate,
  serving: () => Serving,
  runtime: RuntimeDependencies,
  onStep: (step: string) => void,
): Promise<Listeners> {
  const opened = new Map<string, Listener>();
  const close = async (grace: number) => {
    await Promise.all([...opened.values()].map((listener) => listener.close(grace)));
  };

  async function open(named: NamedSettings): Promise<AddressInfo> {
    const { name, ...settings } = named;
    onStep(`listening at ${name === 'api' ? 'server' : name}.bind ${settings.bind}`);
    const { timeouts, limits } = loaded.configuration.server;
    const serve = (exchange: Exchange) => serving().serve[name]?.(exchange) ?? notConfigured(name);
    const tls = tlsOf(named, loaded);
    const listener = await createListener({ ...runtime, timeouts, limits, ...settings, tls, serve });
    opened.set(name, listener);
    runtime.telemetry.measure(CONNECTIONS_OPEN, () => [[{ listener: name }, listener.activeConnections]]);
    return listener.address;
  }

  try {
    const { api, ofFeatures } = listenersOf(loaded.configuration);
    const addresses: { api: AddressInfo; [feature: string]: AddressInfo } = { api: await open(api) };
    for (const settings of ofFeatures) addresses[settings.name] = await open(settings);
    return { addresses, prepareTLS, drain, close };
  } catch (error) {
    await close(0);
    throw error;
  }

  function prepareTLS(next: LoadedStonegate): () => void {
    const { api, ofFeatures } = listenersOf(next.configuration);
    const prepared = [api, ...ofFeatures].map((settings) =>
      opened.get(settings.name)?.prepareTLS(tlsOf(settings, next)),
    );
    return () => {
      for (const setTLS of prepared) setTLS?.();
    };
  }

  function drain(): void {
    for (const listener of opened.values()) listener.drain();
  }
}

interface NamedSettings extends ListenerSettings {
  readonly name: string;
  readonly http2: boolean;
}

/** The API's listener, and those of features. */
function listenersOf(configuration: StonegateConfiguration) {
  const { bind, http2, tls } = configuration.server;
  const api: NamedSettings = { name: 'api', bind, http2, tls };
  const ofFeatures = DEFINITIONS.flatMap(({ name, listener }): NamedSettings[] => {
    const settings = listener?.(configuration);
    return settings === undefined ? [] : [{ http2, ...settings, name }];
  });
  return { api, ofFeatures };
}

function tlsOf({ name, tls }: NamedSettings, { configuration, file }: LoadedStonegate): TLSMaterial {
  const material = tlsMaterial(tls, file);
  const { clientCertificates } = configuration.authentication;
  if (name !== 'api' || clientCertificates === undefined) return material;
  return { cert: material.cert, key: material.key, credentialCA: file(clientCertificates.caFile) };
}

function notConfigured(name: string): Promise<never> {
  return Promise.reject(new StatusError('NotFound', `the ${name} is not configured any more`));
}

/** Reads the files. With `clientCAFile`, only clients with a certificate of that CA may connect. */
export function tlsMaterial(
  { certFile, keyFile, clientCAFile }: ListenerSettings['tls'],
  file: FilesAndSecrets['file'],
): TLSMaterial {
  const own = { cert: file(certFile), key: file(keyFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}
