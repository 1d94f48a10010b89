/**
 * The listeners of one process. Their addresses stay as they were at the start; certificates and what they
 * serve follow the configuration in force.
 */
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { counted } from '../config/build.ts';
import type { GenerationBuilder } from '../config/generation.ts';
import type { Loaded } from '../config/load.ts';
import type { Parts } from '../config/scope.ts';
import { StatusError } from '../errors/status-error.ts';
import type { FeatureDefinition, FilesAndSecrets } from '../features/define-feature.ts';
import type { ListenerSettings } from '../features/listener-settings.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { Runtime } from '../lib/runtime.ts';
import { CONNECTIONS_OPEN, createListener, type Listener, type ListenerOptions } from '../server/listener.ts';
import type { TLSMaterial } from '../server/tls-material.ts';

/** A listener as one configuration describes it, with what serves its requests. */
export interface ServedListener
  extends Pick<ListenerOptions, 'bind' | 'tls' | 'http2' | 'timeouts' | 'limits' | 'serve'> {
  /** `api`, or the name of a feature. */
  readonly name: string;
}

/** The listeners of a process, which has at least one. */
export type ServedListeners = readonly [ServedListener, ...ServedListener[]];

export interface Listeners {
  /** The address of the first listener. */
  readonly address: AddressInfo;
  /** The addresses of the listeners with which the process was started, by their names. */
  readonly addresses: Readonly<Record<string, AddressInfo>>;
  /**
   * Prepares the certificates of a configuration.
   *
   * @returns a function that brings them into force for new connections; it never throws
   * @throws Error if one of them cannot be used; then all stay
   */
  prepareTLS(next: ServedListeners): () => void;
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
 * @param inForce returns the listeners of the configuration in force; called when a request arrives
 * @param onStep called with each step of the start before it begins
 * @throws Error if an address is taken; then all listeners are closed
 */
export async function createListeners(
  inForce: () => ServedListeners,
  runtime: Runtime,
  onStep: (step: string) => void,
): Promise<Listeners> {
  const opened = new Map<string, Listener>();
  const close = async (grace: number) => {
    await Promise.all([...opened.values()].map((listener) => listener.close(grace)));
  };

  async function open({ name, ...options }: ServedListener): Promise<AddressInfo> {
    onStep(`listening at ${name === 'api' ? 'server' : name}.bind ${options.bind}`);
    const serve = (exchange: Exchange) =>
      inForce()
        .find((listener) => listener.name === name)
        ?.serve(exchange) ?? notConfigured(name);
    const listener = await createListener({ ...runtime, ...options, serve });
    opened.set(name, listener);
    runtime.telemetry.measure(CONNECTIONS_OPEN, () => [[{ listener: name }, listener.activeConnections]]);
    return listener.address;
  }

  try {
    const [first, ...others] = inForce();
    const address = await open(first);
    const addresses: Record<string, AddressInfo> = { [first.name]: address };
    for (const listener of others) addresses[listener.name] = await open(listener);
    return { address, addresses, prepareTLS, drain, close };
  } catch (error) {
    await close(0);
    throw error;
  }

  function prepareTLS(next: ServedListeners): () => void {
    const prepared = next.map(({ name, tls }) => opened.get(name)?.prepareTLS(tls));
    return () => {
      for (const setTLS of prepared) setTLS?.();
    };
  }

  function drain(): void {
    for (const listener of opened.values()) listener.drain();
  }
}

function notConfigured(name: string): Promise<never> {
  return Promise.reject(new StatusError('NotFound', `the ${name} is not configured any more`));
}

/**
 * The listener that a feature declares.
 *
 * @param defaults for what the feature leaves out
 * @param serve undefined if the feature is not configured, or needs a restart
 * @returns undefined if the feature declares no listener, or nothing serves its requests
 */
export function featureListener<C>(
  { name, listener }: Pick<FeatureDefinition<z.ZodRawShape, C, Parts>, 'name' | 'listener'>,
  { loaded, generation }: { readonly loaded: Loaded<C>; readonly generation: GenerationBuilder },
  defaults: Pick<ServedListener, 'http2' | 'timeouts' | 'limits'>,
  serve: ServedListener['serve'] | undefined,
): ServedListener | undefined {
  const settings = listener?.(loaded.configuration);
  if (settings === undefined || serve === undefined) return undefined;
  const tls = tlsMaterial(settings.tls, loaded.file);
  return { ...defaults, ...settings, name, tls, serve: counted(serve, generation.inFlight) };
}

/** Reads the files. With `clientCAFile`, only clients with a certificate of that CA may connect. */
export function tlsMaterial(
  { certFile, keyFile, clientCAFile }: ListenerSettings['tls'],
  file: FilesAndSecrets['file'],
): TLSMaterial {
  const own = { cert: file(certFile), key: file(keyFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}
